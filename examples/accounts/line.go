package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line is a value as the disk has it: the length of its JSON text in bytes and that text's
// CRC-32C, both of 8 hexadecimal digits, the text, and a line feed. A line that was written in
// part, or has changed since, is told from a whole one: a CRC-32C finds each change of up to 32
// bits in a row, and misses one of 2³² others.

const lineHead = len("00000000 00000000 ")

var errLine = errors.New("it is no whole line: its length or its checksum is wrong")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendLine appends the line of v.
func appendLine(to []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return to, err
	}
	return fmt.Appendf(to, "%08x %08x %s\n", len(text), crc32.Checksum(text, castagnoli), text), nil
}

// readLine reads the line that data begins with into v, and returns how long it is.
func readLine(data []byte, v any) (n int, err error) {
	if n = wholeLine(data); n == 0 {
		return 0, errLine
	}
	return n, json.Unmarshal(data[lineHead:n-1], v)
}

// wholeLine returns how long the line is that data begins with. 0: data begins with no whole line.
func wholeLine(data []byte) int {
	if len(data) < lineHead || data[8] != ' ' || data[17] != ' ' {
		return 0
	}
	size, good := hexadecimal(data[:8])
	sum, also := hexadecimal(data[9:17])
	rest := data[lineHead:]
	if !good || !also || uint64(size) >= uint64(len(rest)) || rest[size] != '\n' ||
		crc32.Checksum(rest[:size], castagnoli) != sum {
		return 0
	}
	return lineHead + int(size) + 1
}

// hexadecimal reads 8 digits, as appendLine writes them.
func hexadecimal(digits []byte) (n uint32, ok bool) {
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// nextLine returns where the first whole line in data begins, at `from` or later; -1: there is
// none.
func nextLine(data []byte, from int) int {
	for i := from; i < len(data); i++ {
		if wholeLine(data[i:]) > 0 {
			return i
		}
	}
	return -1
}
