package nats

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func (l *streamLink) bucketName(b bucket) string { return l.o.Cluster + "-" + string(b) }

// bucketStream is the stream of a bucket.
func bucketStream(name string) string { return "KV_" + name }

func (l *streamLink) makeBucket(ctx context.Context, b bucket) (jetstream.KeyValue, error) {
	name := l.bucketName(b)
	kv, err := l.js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = l.js.CreateStream(ctx, l.bucketConfig(name))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was faster
			err = nil
		}
		if err == nil {
			kv, err = l.js.KeyValue(ctx, name)
		}
	}
	if err == nil {
		kv, err = l.readAtLeader(ctx, kv)
	}
	return kv, clear(err)
}

// bucketConfig is what the client makes a bucket of, but for the first revision: it is the time, in
// µs, so that revisions grow also where a bucket was deleted, and is made again. Tokens are
// revisions of one bucket, and the snapshots of the other have them.
func (l *streamLink) bucketConfig(name string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              bucketStream(name),
		Subjects:          []string{"$KV." + name + ".>"},
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgSize:        -1,
		MaxConsumers:      -1,
		Discard:           jetstream.DiscardNew,
		AllowRollup:       true,
		DenyDelete:        true,
		AllowDirect:       true,
		Duplicates:        idsLast,
		Storage:           l.storage(),
		Replicas:          l.o.Replicas,
		FirstSeq:          uint64(time.Now().UnixMicro()),
	}
}

// readAtLeader has gets answered by the server that leads, where there are replicas. The client
// makes each bucket one that any replica answers for, also one that has not the last puts yet.
func (l *streamLink) readAtLeader(ctx context.Context,
	kv jetstream.KeyValue) (jetstream.KeyValue, error) {
	s, err := l.js.Stream(ctx, bucketStream(kv.Bucket()))
	if err != nil {
		return nil, err
	}
	c := s.CachedInfo().Config
	l.made[c.Name] = s.CachedInfo().Created
	if c.Replicas == 1 || !c.AllowDirect {
		return kv, nil
	}
	c.AllowDirect = false
	if _, err := l.js.UpdateStream(ctx, c); err != nil {
		return nil, err
	}
	return l.js.KeyValue(ctx, kv.Bucket()) // kv would ask all of them still
}

// kvStore is a store that is a key-value bucket of JetStream. Where there are replicas, errRevision
// does not prove that another has written: a put is also refused while one before is on its way.
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
