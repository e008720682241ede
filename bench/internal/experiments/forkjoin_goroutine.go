package experiments

import (
	"fmt"
	"math/bits"
	"sync"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

// goLoads are the loads of forkload.h and forkbody.h with goroutines as children, in Go. Each
// returns what does a load of this size once, and what is its checksum then. GOMAXPROCS, the row's
// Procs, says on how many threads.
var goLoads = map[uint32]func(size uint32) (begin, once func(), sum func() uint64){
	cbody.ForkFib: returning(goFib),
	cbody.ForkQueens: returning(func(n uint32) uint64 {
		return goQueens{n: n}.count()
	}),
	cbody.ForkSort:   goSort,
	cbody.ForkMandel: returning(func(size uint32) uint64 { return goMandel(size, 0, size) }),
	cbody.ForkTree: returning(func(levels uint32) uint64 {
		return goTree(levels, cbody.ForkTreeRoot, 0)
	}),
	cbody.ForkProduct: goProduct,
}

// goForks does a load, as fj_measure of forkload.h does.
func goForks(f cbody.Fork, _ int) (d time.Duration, sum uint64, err error) {
	begin, once, sumOf := goLoads[f.Load](f.Size)
	untimed := min(f.Laps-1, 1)
	for lap := range f.Laps {
		begin()
		from := time.Now()
		once()
		took := time.Since(from)
		own := sumOf()
		if lap == 0 {
			sum = own
		}
		if own != sum {
			return 0, 0, fmt.Errorf("lap %d has the checksum %d, and the first %d", lap, own, sum)
		}
		if lap >= untimed {
			d += took
		}
	}
	return d / time.Duration(f.Laps-untimed), sum, nil
}

// returning is a load that is a function whose result is the checksum.
func returning(f func(size uint32) uint64) func(uint32) (func(), func(), func() uint64) {
	return func(size uint32) (begin, once func(), sum func() uint64) {
		var result uint64
		return func() {}, func() { result = f(size) }, func() uint64 { return result }
	}
}

func goHash(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func goSum(words []uint32) (sum uint64) {
	for _, x := range words {
		sum = sum*31 + uint64(x)
	}
	return sum
}

func goFib(n uint32) uint64 {
	if n < 2 {
		return uint64(n)
	}
	var child sync.WaitGroup
	var a uint64
	child.Go(func() { a = goFib(n - 1) })
	b := goFib(n - 2)
	child.Wait()
	return a + b
}

// goQueens are n queens of which some are placed: row is the next row, and the rest says which of
// its fields they reach.
type goQueens struct{ n, row, columns, left, right uint32 }

func (q goQueens) count() (found uint64) {
	if q.row == q.n {
		return 1
	}
	free := ^(q.columns | q.left | q.right) & (1<<q.n - 1)
	results := make([]uint64, bits.OnesCount32(free))
	var children sync.WaitGroup
	for i := range results {
		field := free & -free
		free &= free - 1
		next := goQueens{q.n, q.row + 1, q.columns | field, (q.left | field) << 1,
			(q.right | field) >> 1}
		children.Go(func() { results[i] = next.count() })
	}
	children.Wait()
	for _, x := range results {
		found += x
	}
	return found
}

func goSort(size uint32) (begin, once func(), sum func() uint64) {
	keys := make([]uint32, size)
	begin = func() {
		for i := range keys {
			keys[i] = uint32(goHash(uint64(i)))
		}
	}
	return begin, func() { goSortForked(keys) }, func() uint64 { return goSum(keys) }
}

func goSortForked(keys []uint32) {
	if len(keys) <= cbody.ForkSortLeaf {
		goSortAlone(keys)
		return
	}
	left := goPart(keys)
	var child sync.WaitGroup
	child.Go(func() { goSortForked(keys[:left]) })
	goSortForked(keys[left:])
	child.Wait()
}

func goSortAlone(keys []uint32) {
	for len(keys) > cbody.ForkInsertion {
		left := goPart(keys)
		goSortAlone(keys[:left])
		keys = keys[left:]
	}
	for i := 1; i < len(keys); i++ {
		one, k := keys[i], i
		for ; k > 0 && keys[k-1] > one; k-- {
			keys[k] = keys[k-1]
		}
		keys[k] = one
	}
}

// goPart partitions the keys, two or more, and returns how many are left.
func goPart(keys []uint32) int {
	a, b, c := keys[0], keys[len(keys)/2], keys[len(keys)-1]
	pivot := max(min(a, b), min(max(a, b), c))
	i, k := 0, len(keys)-1
	for {
		for keys[i] < pivot {
			i++
		}
		for keys[k] > pivot {
			k--
		}
		if i >= k {
			return min(k+1, len(keys)-1)
		}
		keys[i], keys[k] = keys[k], keys[i]
		i, k = i+1, k-1
	}
}

func goMandel(size, row, end uint32) uint64 {
	if end-row == 1 {
		return goMandelRow(size, row)
	}
	middle := row + (end-row)/2
	var child sync.WaitGroup
	var a uint64
	child.Go(func() { a = goMandel(size, row, middle) })
	b := goMandel(size, middle, end)
	child.Wait()
	return a + b
}

func goMandelRow(size, row uint32) (sum uint64) {
	const one = int64(1) << cbody.ForkMandelBits
	y0 := 3*one*int64(row)/int64(size) - 3*one/2
	for column := range size {
		x0 := 3*one*int64(column)/int64(size) - 2*one
		x, y, steps := int64(0), int64(0), uint64(0)
		for ; steps < cbody.ForkMandelLimit; steps++ {
			xx, yy := x*x>>cbody.ForkMandelBits, y*y>>cbody.ForkMandelBits
			if xx+yy > 4*one {
				break
			}
			y = x*y>>(cbody.ForkMandelBits-1) + y0
			x = xx - yy + x0
		}
		sum = sum*31 + steps
	}
	return sum * uint64(row+1)
}

func goTree(levels uint32, node uint64, level uint32) uint64 {
	if level == levels || level > 0 && node >= cbody.ForkTreeMost {
		return node
	}
	var children sync.WaitGroup
	var sums [cbody.ForkKids]uint64
	for i := range sums {
		children.Go(func() { sums[i] = goTree(levels, goHash(node+uint64(i)), level+1) })
	}
	children.Wait()
	for _, x := range sums {
		node += x
	}
	return node
}

func goProduct(size uint32) (begin, once func(), sum func() uint64) {
	n := int(size)
	both := make([]uint32, 2*n*n)
	for i := range both {
		both[i] = uint32(goHash(uint64(i)))
	}
	c := make([]uint32, n*n)
	p := goProducts{c: c, a: both[:n*n], b: both[n*n:], n: n, stride: n}
	return func() { clear(c) }, p.add, func() uint64 { return goSum(c) }
}

// goProducts is c += a b of n rows and columns, which are parts of matrices with rows of this
// stride.
type goProducts struct {
	c, a, b   []uint32
	n, stride int
}

// quarter is, of c, the one at (i, j), with the products of a's k-th column of quarters.
func (p goProducts) quarter(i, j, k int) goProducts {
	n := p.n / 2
	at := func(row, column int) int { return row*n*p.stride + column*n }
	return goProducts{p.c[at(i, j):], p.a[at(i, k):], p.b[at(k, j):], n, p.stride}
}

func (p goProducts) add() {
	if p.n <= cbody.ForkProductLeaf {
		p.addAlone()
		return
	}
	for k := range 2 {
		var children sync.WaitGroup
		for i := range 3 {
			children.Go(p.quarter(i/2, i%2, k).add)
		}
		p.quarter(1, 1, k).add()
		children.Wait()
	}
}

func (p goProducts) addAlone() {
	for i := range p.n {
		for k := range p.n {
			c, b := p.c[i*p.stride:][:p.n], p.b[k*p.stride:][:p.n]
			a := p.a[i*p.stride+k]
			for j := range c {
				c[j] += a * b[j]
			}
		}
	}
}
