package nats

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

func (l *streamLink) makeBucket(ctx context.Context, b bucket) (jetstream.KeyValue, error) {
	name := l.o.Cluster + "-" + string(b)
	kv, err := l.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = l.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: name, Storage: l.storage(), Replicas: l.o.Replicas})
		if errors.Is(err, jetstream.ErrBucketExists) { // another node was faster
			kv, err = l.js.KeyValue(ctx, name)
		}
	}
	return kv, clear(err)
}

// kvStore is a store that is a key-value bucket of JetStream. Its gets may be stale where there are
// replicas: then a put fails, and is tried again.
type kvStore struct{ kv jetstream.KeyValue }

func (s *kvStore) get(ctx context.Context, key string) (entry, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	e, err := s.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return entry{}, errNoEntry
	}
	if err != nil {
		return entry{}, clear(err)
	}
	return entry{key, e.Value(), e.Revision()}, nil
}

func revisionError(err error) error {
	var api *jetstream.APIError
	if errors.Is(err, jetstream.ErrKeyExists) || errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
			api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return errRevision
	}
	return clear(err)
}

func (s *kvStore) put(ctx context.Context, key string, v []byte, revision uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var err error
	if revision == 0 {
		revision, err = s.kv.Create(ctx, key, v)
	} else {
		revision, err = s.kv.Update(ctx, key, v, revision)
	}
	return revision, revisionError(err)
}

func (s *kvStore) delete(ctx context.Context, key string, revision uint64) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return revisionError(s.kv.Delete(ctx, key, jetstream.LastRevision(revision)))
}

func (s *kvStore) watch(ctx context.Context, f func(entry)) (func(), error) {
	w, err := s.kv.WatchAll(ctx)
	if err != nil {
		return nil, clear(err)
	}
	go func() {
		for u := range w.Updates() {
			switch {
			case u == nil:
				f(entry{})
			case u.Operation() == jetstream.KeyValuePut:
				f(entry{u.Key(), u.Value(), u.Revision()})
			default:
				f(entry{u.Key(), nil, u.Revision()})
			}
		}
	}()
	return func() { _ = w.Stop() }, nil
}
