package nats

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// A Codec encodes states and messages. It is called by several goroutines at a time. Bytes that it
// cannot decode, or panics at, are an ErrDecode: a message is a dead letter at once then. A state
// that it cannot encode is a failed try of the message that has made the state.
type Codec interface {
	Encode(v any) ([]byte, error)
	Decode(data []byte, into any) error // into is a pointer
}

// JSON is the default Codec.
var JSON Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Encode(v any) ([]byte, error)       { return json.Marshal(v) }
func (jsonCodec) Decode(data []byte, into any) error { return json.Unmarshal(data, into) }

// OneOf is the Codec of messages of an interface type M: JSON, with the name of the type beside the
// value. It takes a value of each type that there is. Two types of one name, or a nil, panic, as
// this is a mistake of the program.
func OneOf[M any](values ...M) Codec {
	c := oneOf[M]{types: map[string]reflect.Type{}}
	for _, v := range values {
		t := reflect.TypeOf(v)
		if t == nil || c.types[t.Name()] != nil || t.Name() == "" {
			panic(fmt.Sprintf("nats.OneOf: %v: values of named types, each name once",
				t))
		}
		c.types[t.Name()] = t
	}
	return c
}

type oneOf[M any] struct{ types map[string]reflect.Type }

type tagged struct {
	Type  string          `json:"type"`
	Value json.RawMessage `json:"value"`
}

func (c oneOf[M]) Encode(v any) ([]byte, error) {
	t := reflect.TypeOf(v)
	if t == nil || c.types[t.Name()] != t {
		return nil, fmt.Errorf("%T is not among the types that OneOf was given", v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(tagged{t.Name(), data})
}

func (c oneOf[M]) Decode(data []byte, into any) error {
	m, ok := into.(*M)
	if !ok {
		return fmt.Errorf("%T is no pointer to %v", into, reflect.TypeFor[M]())
	}
	var g tagged
	if err := json.Unmarshal(data, &g); err != nil {
		return err
	}
	t := c.types[g.Type]
	if t == nil {
		return fmt.Errorf("type %q is not among those that OneOf was given", g.Type)
	}
	v := reflect.New(t)
	if err := json.Unmarshal(g.Value, v.Interface()); err != nil {
		return err
	}
	*m = v.Elem().Interface().(M)
	return nil
}
