%% Erlang's processes: that do nothing, and that yield to each other.
%% erl -noshell +P 2000000 +S 1:1 -run processes main spawn process 1 500000
%% erl -noshell +S 1:1 -run processes main switching yield 1000 2000000
-module(processes).
-export([main/1]).

main(["spawn", _, _, N]) ->
    _ = spawns(list_to_integer(N)),
    garbage_collect(),
    {Spawn, Run} = spawns(list_to_integer(N)),
    io:format("{\"version\": \"~s\", \"spawn_ms\": ~.6f, \"run_ms\": ~.6f, \"total_ms\": ~.6f}~n",
              [version(), Spawn / 1.0e6, Run / 1.0e6, (Spawn + Run) / 1.0e6]),
    halt(0);
main(["switching", "yield", N, Switches]) ->
    Members = list_to_integer(N),
    Laps = max(list_to_integer(Switches) div Members, 1),
    _ = yields(Members, Laps),
    Took = yields(Members, Laps),
    io:format("{\"version\": \"~s\", \"ns_per_switch\": ~.3f}~n",
              [version(), Took / (Members * Laps)]),
    halt(0).

version() -> "Erlang/OTP " ++ erlang:system_info(otp_release).

now_ns() -> erlang:monotonic_time(nanosecond).

%% The last one to end tells so: a mailbox of N messages would cost more than the processes.
spawns(N) ->
    Main = self(),
    Left = atomics:new(1, []),
    atomics:put(Left, 1, N),
    Empty = fun() -> ended(atomics:sub_get(Left, 1, 1), Main) end,
    Start = now_ns(),
    repeat(N, fun() -> spawn(Empty) end),
    Middle = now_ns(),
    done(),
    {Middle - Start, now_ns() - Middle}.

ended(0, Main) -> Main ! done;
ended(_, _) -> ok.

done() -> receive done -> ok end.

%% yields - the ns of all yields, of processes that yield in turn.
yields(Members, Laps) ->
    Main = self(),
    Pids = [spawn(fun() -> member(Main, Laps) end) || _ <- lists:seq(1, Members)],
    Start = now_ns(),
    [P ! start || P <- Pids],
    repeat(Members, fun done/0),
    now_ns() - Start.

member(Main, Laps) ->
    receive start -> ok end,
    repeat(Laps, fun erlang:yield/0),
    Main ! done.

repeat(0, _) -> ok;
repeat(N, F) -> F(), repeat(N - 1, F).
