package actor

import "reflect"

// registry.go - actors by their names.

// register gives an actor a name.
func (y *System) register(name string, s *actor) error {
	y.namesMu.Lock()
	defer y.namesMu.Unlock()
	if holder := y.names[name]; holder != nil {
		return errorf(ErrName,
			"%q is the name of a %v: choose another one, or stop that first",
			name, holder.kind.receiver)
	}
	y.names[name] = s
	return nil
}

// forget takes the name of an actor away that has ended.
func (y *System) forget(s *actor, x *side) {
	if x.name != "" {
		y.namesMu.Lock()
		if y.names[x.name] == s {
			delete(y.names, x.name)
		}
		y.namesMu.Unlock()
	}
}

// Lookup finds an actor by its name. The error is an ErrName if there is none, or if its messages
// are not of type M. It takes a lock for a moment; a Ref that is kept needs none.
func Lookup[M any](y *System, name string) (Ref[M], error) {
	if y == nil {
		return Ref[M]{}, errorf(ErrOption, "Lookup needs a System that New has made")
	}
	y.namesMu.Lock()
	s := y.names[name]
	y.namesMu.Unlock()
	if s == nil {
		return Ref[M]{}, errorf(ErrName, "no actor is called %q", name)
	}
	if _, ok := s.kind.ops.(*pool[M]); !ok {
		return Ref[M]{}, errorf(ErrName, "%q is a %v, which takes no %v",
			name, s.kind.receiver, reflect.TypeFor[M]())
	}
	return Ref[M]{ofType[M](s)}, nil
}
