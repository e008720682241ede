package main

import (
	"fmt"
	"slices"
)

// A load is what bench/compare runs: an experiment, by a regular expression, and some of its rows
// (none: those that compare chooses).
type load struct{ experiment, rows, with string }

// A plan says where a policy is measured, and on what ground it stays:
//
//	a  a row that is not of Savina gains 5 % or more
//	b  a bound that the docs promise breaks without it
//	c  three rows of Savina or more gain 25 % or more
//	d  it is for more CPUs than there are where it was measured
type plan struct {
	name   string
	loads  []load
	ground string
	why    string
	held   string // the test, model or scenario that fails where the policy is broken
}

const savinas = "pingpong|counting|threadring|big|chameneos|fanin|fjthrput"

var (
	switches = load{experiment: "switch|yield"}
	spawns   = load{experiment: "spawn|tasks"}
	across   = load{experiment: "chan", rows: `^coro/(unbuffered|pair) C across`}
	toGo     = load{experiment: "chan", rows: `^coro/(unbuffered|from-sleep) (C-to-Go|Go-to-C)`}
	chained  = load{experiment: "chan|sync", rows: `^coro/(pair|ring) C (home|shared)`}
	borders  = load{experiment: "border",
		rows: `^coro/(start-wait|echo|call|call-n|children|8x5us)( cold)? workers=\d+ n=\d+$`}
	pairs       = load{experiment: "chan|sync", rows: `^coro/.*(home|across)`}
	inputs      = load{experiment: "io", rows: `^coro/`}
	kept        = load{experiment: "connections", rows: `^coro/`}
	savina      = load{experiment: "actor", rows: `^coro-c/(` + savinas + `) `}
	savinaOnTwo = load{experiment: "actor", rows: `^coro-c/(` + savinas + `) workers=2`}
	goSavina    = load{experiment: "actor", rows: `^coro-go/(` + savinas + `|ask\d+) `}
)

// fair are rows of C coroutines in the experiment of that name, which takes long.
func fair(rows string) load {
	return load{experiment: "fair", rows: "^coro-c/(" + rows + ") "}
}

var all = []plan{
	{name: "worth", loads: []load{savinaOnTwo, spawns}, ground: "c",
		why: "two rows, not three, but by far: on two workers `big` takes 4.8 times as long " +
			"without it, and `chameneos` 6.9 times",
		held: "steal_leaves_a_queue_that_is_not_worth_it"},
	{name: "spin", loads: []load{across, toGo}, ground: "a",
		why:  "values between coroutines on two workers take 1.3 times as long (16 rounds)",
		held: "policy_spin"},
	{name: "wait-spin", loads: []load{across, toGo}, ground: "a",
		why:  "a value between coroutines on two workers takes 3 times as long",
		held: "policy_wait_spin"},
	{name: "standby", loads: []load{spawns, inputs}, ground: "b",
		why:  "nothing lies for longer than 4 ms behind a coroutine that computes (sleeping.md)",
		held: "latency_somebody_is_to_look_around"},
	{name: "reserve", loads: []load{inputs, kept}, ground: "a",
		why: "CPU of examples/httpd for a request, 8 connections, two workers: 1.08 times " +
			"(median of 7 by turns); 1.23 times without `fed` too",
		held: "RESERVE_KEPT"},
	{name: "fed", loads: []load{inputs, kept}, ground: "a",
		why: "CPU of examples/httpd for a request, 8 connections, two workers: 1.12 times " +
			"(median of 7 by turns); 1.23 times without `reserve` too",
		held: "policy_fed"},
	{name: "coalesce-wakes", loads: []load{toGo, borders}, ground: "a",
		why: "`beside`, arrivals: goroutines lose 2.5 % of their work to coroutines that come " +
			"meanwhile, and 5.7 % without it (medians of 7 by turns)",
		held: "batch_of_one_is_not_several"},
	{name: "coalesce-spawns", loads: []load{spawns}, ground: "a",
		why:  "500 000 spawns one by one take 1.6 times as long on two workers",
		held: "policy_coalesce_spawns"},
	{name: "stir", loads: []load{fair(`harmonic|newcomer-insular workers=2`)}, ground: "b",
		why:  "workers that are all busy share their work (fairness.md)",
		held: "fair_busy_workers_share"},
	{name: "hold-off", loads: []load{spawns, {experiment: "fib"}}, ground: "a",
		why:  "500 000 spawns by a coroutine take 3.2 times as long on two workers",
		held: "policy_hold_off"},
	{name: "favors", loads: []load{fair(`newcomer-insular( 1ms)? workers=1`)}, ground: "a",
		why: "a newcomer beside insular coroutines waits for 24 times as long, and for 1500 times " +
			"where their turns take 1 ms",
		held: "policy_favors"},
	{name: "follows", loads: []load{pairs}, ground: "b",
		why: "two pairs among 500: most to least tokens 1.1 to 1.5, and 30 to 32 without it " +
			"(fairness.md)",
		held: "FOLLOW_CURRENT"},
	{name: "look-ahead", loads: []load{switches}, ground: "a",
		why:  "a yield of 20 000 coroutines takes 1.4 times as long",
		held: "policy_look_ahead"},
	{name: "chains", loads: []load{chained}, ground: "a",
		why:  "rings and pairs at home take 1.5 to 6 times as long",
		held: "sched_handover_budget_follows_the_clock"},
	{name: "wait-budget", loads: []load{pairs, fair(`newcomer-flood workers=1`)}, ground: "b",
		why:  "waits that end at once let others run (fairness.md)",
		held: "fair_sleepers_wake_up_beside_waits_that_end_at_once"},
	{name: "lend", loads: []load{borders}, ground: "a",
		why:  "a Call takes the time of two wake-ups: `call` and `echo cold` 20 to 500 times as long",
		held: "lend_call_ends_at_once_on_the_calling_thread"},
	{name: "succeed", loads: []load{spawns}, ground: "a",
		why:  "coroutines that do not suspend take 1.4 to 2.1 times as long to run",
		held: "policy_succeed"},
	{name: "poll-less", loads: []load{inputs}, ground: "a",
		why: "CPU of examples/httpd for a request, 8 connections, two workers: 1.17 times " +
			"(median of 7 by turns)",
		held: "policy_poll_less"},
	{name: "home", loads: []load{savina}, ground: "c",
		why: "`pingpong`, `counting`, `fanin`, `threadring` and `chameneos` take 1.4 to 1.8 times " +
			"as long",
		held: "BOX_HOME_STOLEN"},
	{name: "bulk", loads: []load{goSavina}, ground: "c",
		why:  "`counting`, `fanin` and `fjthrput` of package actor take 2.2 to 7.7 times as long",
		held: "TestADeepMailboxHasChunks"},
	{name: "stay-on-p", loads: []load{goSavina, {experiment: "body"}}, ground: "a",
		why:  "a yield of Go bodies takes 1.2 times as long",
		held: "TestGoschedStaysWhereAPIsIdle"},
	{name: "meet", loads: []load{toGo}, ground: "a",
		why: "a value between a goroutine and a coroutine, without room: 150 ns, and 290 without it, " +
			"on a quiet machine (commit 33f51f9)",
		held: "TestMeetsWithoutRoom"},
}

// plansOf are the plans of the policies with these names. Each has one.
func plansOf(names []string) ([]plan, error) {
	var out []plan
	for _, name := range names {
		i := slices.IndexFunc(all, func(p plan) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("the policy %s has no plan in bench/ablate/plan.go", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}
