// SPDX-License-Identifier: Apache-2.0
//
// containers SEED [DAMAGE]: makes one local variable of each kind of Go's, with contents
// at random, prints each variable's name and what it holds as JSON, and crashes. Of maps
// all elements are printed. With DAMAGE, that many words of the maps and channels are
// overwritten first.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"unsafe"
)

type point struct{ X, Y int }

type shape interface{ Area() int }

func (p *point) Area() int { return p.X * p.Y }

type square struct{ Side int }

func (s square) Area() int { return s.Side * s.Side }

type names []string

type label string

var chance *rand.Rand

// How many elements a container gets: none, a few, more than are shown.
func some() int {
	return []int{0, 1, 3, 8, 9, 40, 300}[chance.Intn(7)]
}

func text() string {
	made := make([]byte, []int{0, 1, 7, 16, 40}[chance.Intn(5)])
	for i := range made {
		made[i] = byte('a' + chance.Intn(26))
	}
	return string(made)
}

func show(name string, value interface{}) {
	shown, _ := json.Marshal(value)
	fmt.Printf("%s\t%s\n", name, shown)
}

type pairs struct {
	Size    int             `json:"size"`
	Entries [][]interface{} `json:"entries"`
}

type items struct {
	Size  int           `json:"size"`
	Items []interface{} `json:"items"`
}

type held struct {
	Choice string      `json:"choice"`
	Value  interface{} `json:"value"`
}

func damage(count int, where ...unsafe.Pointer) {
	odd := []uintptr{0, 1, 8, 0x4141414141414141, ^uintptr(0), 1 << 46}
	for ; count > 0; count-- {
		words := (*[6]uintptr)(where[chance.Intn(len(where))])
		words[chance.Intn(6)] = odd[chance.Intn(len(odd))]
	}
}

//go:noinline
func fill(nowhere *int, damaged int) int {
	numbers := map[int]int{}
	words := map[string]string{}
	points := map[int32]point{}
	var missing map[string]int
	set := map[int64]struct{}{}
	grown := map[uint16]string{}
	slice := []string{}
	named := names{text(), text()}
	labelled := label(text())
	channel := make(chan int, 12)
	closed := make(chan string, 2)
	plain := make(chan bool)
	var nothing interface{}
	var number interface{} = chance.Intn(100000)
	var line interface{} = text()
	var shape1 shape = &point{chance.Intn(10), 4}
	var shape2 shape = square{chance.Intn(10)}
	var failure error = errors.New(text())
	var null shape = (*point)(nil)
	one := square{7}
	for i := some(); i > 0; i-- {
		numbers[chance.Intn(1000)] = i
	}
	for i := some(); i > 0; i-- {
		words[text()] = text()
	}
	for i := some(); i > 0; i-- {
		points[int32(i)] = point{i, -i}
	}
	for i := some(); i > 0; i-- {
		set[int64(chance.Intn(1000))] = struct{}{}
	}
	for i := 0; i < 7+chance.Intn(60); i++ {
		grown[uint16(i)] = text()
	}
	for i := some(); i > 0; i-- {
		slice = append(slice, text())
	}
	sent := []interface{}{}
	for i := chance.Intn(12); i > 0; i-- {
		channel <- 0
		<-channel
	}
	for i := chance.Intn(9); i > 0; i-- {
		channel <- i
		sent = append(sent, i)
	}
	closed <- "last"
	close(closed)

	all := pairs{len(numbers), [][]interface{}{}}
	for key, value := range numbers {
		all.Entries = append(all.Entries, []interface{}{key, value})
	}
	show("numbers", all)
	all = pairs{len(words), [][]interface{}{}}
	for key, value := range words {
		all.Entries = append(all.Entries, []interface{}{key, value})
	}
	show("words", all)
	all = pairs{len(points), [][]interface{}{}}
	for key, value := range points {
		all.Entries = append(all.Entries, []interface{}{key, value})
	}
	show("points", all)
	all = pairs{len(grown), [][]interface{}{}}
	for key, value := range grown {
		all.Entries = append(all.Entries, []interface{}{key, value})
	}
	show("grown", all)
	if len(set) == 0 { // nothing says that it is none of pairs
		show("set", pairs{0, [][]interface{}{}})
	} else {
		keys := items{len(set), []interface{}{}}
		for key := range set {
			keys.Items = append(keys.Items, key)
		}
		show("set", keys)
	}
	first := items{len(slice), []interface{}{}}
	for i := 0; i < len(slice) && i < 8; i++ {
		first.Items = append(first.Items, slice[i])
	}
	show("slice", first)
	show("named", items{2, []interface{}{named[0], named[1]}})
	show("labelled", labelled)
	show("missing", nil)
	show("channel", items{len(sent), sent})
	show("plain", items{0, []interface{}{}})
	fmt.Println("closed\t{\"choice\": \"closed\", \"size\": 1, \"items\": [\"last\"]}")
	show("nothing", nil)
	show("number", held{"int", number})
	show("line", held{"string", line})
	show("shape1", held{"*main.point", shape1})
	show("shape2", held{"main.square", shape2})
	show("failure", held{"*errors.errorString", map[string]string{"s": failure.Error()}})
	show("null", held{"*main.point", nil})
	if damaged != 0 {
		damage(damaged, *(*unsafe.Pointer)(unsafe.Pointer(&numbers)),
			*(*unsafe.Pointer)(unsafe.Pointer(&words)),
			*(*unsafe.Pointer)(unsafe.Pointer(&points)),
			*(*unsafe.Pointer)(unsafe.Pointer(&channel)))
	}
	*nowhere = 1 // crashes here
	return len(numbers) + len(words) + len(points) + len(missing) + len(set) +
		len(grown) + len(slice) + len(named) + len(labelled) + len(channel) + len(closed) + len(plain) + one.Side +
		shape1.Area() + shape2.Area() + null.Area() + len(failure.Error()) +
		len(fmt.Sprint(nothing, number, line))
}

func main() {
	seed, _ := strconv.Atoi(os.Args[1])
	damaged := 0
	if len(os.Args) > 2 {
		damaged, _ = strconv.Atoi(os.Args[2])
	}
	chance = rand.New(rand.NewSource(int64(seed)))
	fill(nil, damaged)
}
