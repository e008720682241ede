// Command images sends images through a pipeline of actors: Go makes them, C softens them, Go draws
// a frame, C halves them, and adds up what has come. The pixels lie in Buffers, which each stage
// owns while it has the image: they are never copied.
//
// docs/recipes.md explains it. To use it in a module of your own, copy the folder, and write the
// headers beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header coro_actor.h
package main

//go:generate go run github.com/organzine/coro/cmd/coro gen -- -I../../../csrc/include

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -std=gnu11 -O2 -I${SRCDIR}/../../../csrc/include
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor/actorc"
)

// Image has the layout of struct image.
type Image struct {
	Pixels        coro.Buffer
	Width, Height uint32
	Number        uint64
}

// Totals has the layout of struct totals.
type Totals struct{ Images, Bytes, Sum uint64 }

// As in bodies.h.
const (
	image = iota
	totals
)
const (
	soften = iota
	halve
	add
)

const (
	images        = 300
	width, height = 320, 200
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := coro.New()
	if err != nil {
		return err
	}
	defer s.Close(context.Background())

	first, last, err := open(ctx, s)
	if err != nil {
		return err
	}
	for i := range uint64(images) {
		if err := send(s, first, i); err != nil {
			return err
		}
	}
	if err := s.Wait(ctx); err != nil { // until no stage has an image
		return err
	}
	got, err := actorc.Ask[coro.None, Totals](ctx, s, last, totals, coro.None{})
	if err != nil {
		return err
	}
	fmt.Printf("%d images of %d by %d: %d bytes\n", got.Images, width, height, got.Bytes)
	if got != inGo() {
		return errors.New("the images in Go are others")
	}
	if st := s.Stats().Buffers; st.Made != images || st.Freed != images {
		return errors.New("a buffer is left")
	}
	return nil
}

// open opens the stages, the last one first.
func open(ctx context.Context, s *coro.Scheduler) (first, last actorc.Actor, err error) {
	inC := func(what uint32, next actorc.Actor) (a actorc.Actor) {
		if err == nil {
			var ref uint64
			ref, err = OpenStage.Call(ctx, s, Stage{Next: uint64(next), What: what})
			a = actorc.Actor(ref)
		}
		return a
	}
	last = inC(add, 0)
	next := inC(halve, last)
	if err != nil {
		return 0, 0, err
	}
	framed, err := actorc.Spawn(s, framer{next}, actorc.MessagesOf[Image]())
	if err != nil {
		return 0, 0, err
	}
	return inC(soften, framed), last, err
}

// send makes an image, and sends it. With an error it is still ours.
func send(s *coro.Scheduler, to actorc.Actor, number uint64) error {
	b, err := coro.NewBuffer(s, width*height)
	if err != nil {
		return err
	}
	err = b.Use(func(pixels []byte) error { draw(pixels, number); return nil })
	if err == nil {
		err = actorc.Send(to, image, Image{b, width, height, number})
	}
	if err != nil {
		return errors.Join(err, b.Free())
	}
	return nil
}

func draw(pixels []byte, number uint64) {
	for i := range pixels {
		pixels[i] = byte(uint64(i) * (number + 7) >> 3)
	}
}

// A framer is the stage in Go.
type framer struct{ next actorc.Actor }

// Receive leaves all images to Wait: it is called by a worker, and must be short.
func (f framer) Receive([]actorc.Message) int { return 0 }

// Wait draws a frame, and sends the image on. With an error the image is a dead letter, and freed.
func (f framer) Wait(_ context.Context, m actorc.Message) error {
	i, err := actorc.Value[Image](m)
	if err != nil {
		return err
	}
	err = i.Pixels.Use(func(pixels []byte) error { frame(pixels, int(i.Width)); return nil })
	if err != nil {
		return err
	}
	return actorc.Send(f.next, image, i)
}

func (f framer) Ended() {}

func frame(pixels []byte, width int) {
	for i := range pixels {
		if x := i % width; x == 0 || x == width-1 || i < width || i >= len(pixels)-width {
			pixels[i] = 255
		}
	}
}

// inGo are the totals computed in Go, to compare.
func inGo() (t Totals) {
	pixels := make([]byte, width*height)
	softened := make([]byte, len(pixels))
	for number := range uint64(images) {
		draw(pixels, number)
		for i := range pixels {
			before, after := max(i-1, i/width*width), min(i+1, i/width*width+width-1)
			softened[i] = byte((int(pixels[before]) + 2*int(pixels[i]) + int(pixels[after])) / 4)
		}
		frame(softened, width)
		for y := 0; y < height; y += 2 {
			for x := 0; x < width; x += 2 {
				at := softened[y*width+x:]
				four := int(at[0]) + int(at[1]) + int(at[width]) + int(at[width+1])
				t.Sum += uint64(four/4) * (number + 1)
				t.Bytes++
			}
		}
		t.Images++
	}
	return t
}
