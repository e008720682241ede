package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// planted is by how much yields are slowed down in the check, in percent.
const planted = 5

// checked are the rows that the check looks at: not those of more coroutines than the cache has
// room for, which vary with what others do there.
var checked = regexp.MustCompile(`^coro/.* n=\d{1,4}$`)

// check tries the tool on yields: it finds a planted slow-down in each row, and no difference where
// there is none. Both sides are the same source, the work tree if none is named.
func check(ctx context.Context, o options, out, progress io.Writer) error {
	o.new, o.wishes.run, o.wishes.rows = o.old, regexp.MustCompile(`^yield$`), checked
	err := try(ctx, o, "no change", verdictSame, out, progress)
	if err != nil {
		return err
	}
	o.plant = planted
	about := fmt.Sprintf("yields are %d %% slower", planted)
	if err = try(ctx, o, about, verdictSlower, out, progress); errors.Is(err, errToldWrong) {
		fmt.Fprintln(out, "check: again and longer, as the machine may be busy")
		o.budget *= 3
		err = try(ctx, o, about, verdictSlower, out, progress)
	}
	if err == nil {
		fmt.Fprintln(out, "check: both were told right")
	}
	return err
}

var errToldWrong = errors.New("the check has failed")

// try runs a comparison, which is to say the same of all rows.
func try(ctx context.Context, o options, about, verdict string, out, progress io.Writer) error {
	fmt.Fprintf(out, "check: %s\n", about)
	list, err := compare(ctx, o, out, progress)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, j := range list {
		if j.verdict != verdict {
			return fmt.Errorf("%w: %s, and it says of %s: %s", errToldWrong, about,
				j.key, j.verdict)
		}
	}
	return nil
}
