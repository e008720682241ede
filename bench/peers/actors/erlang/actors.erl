%% Erlang's processes in the programs of bench/internal/savina.
%% erl -noshell +S 2:2 -run actors main counting 1
-module(actors).
-export([main/1]).

main([Program, Scale]) ->
    {_, Run} = lists:keyfind(Program, 1, programs()),
    S = list_to_integer(Scale),
    _ = Run(S),
    garbage_collect(),
    {Messages, Took} = Run(S),
    io:format("{\"ns_per_message\": ~.2f}~n", [Took / Messages]),
    halt(0).

programs() ->
    [{"pingpong", fun pingpong/1}, {"counting", fun counting/1}, {"fjthrput", fun fjthrput/1},
     {"threadring", fun threadring/1}, {"big", fun big/1}, {"chameneos", fun chameneos/1},
     {"fanin", fun fanin/1}].

now_ns() -> erlang:monotonic_time(nanosecond).

done() -> receive done -> ok end.

%% ended - the result of a program that began at Start, whose processes are to end.
ended(Messages, Start, Pids) ->
    Took = now_ns() - Start,
    [exit(P, kill) || P <- Pids],
    {Messages, Took}.

%% ------------------------------------------------------------------------------------- pingpong

pingpong(S) ->
    N = 400000 div S, Main = self(),
    Pong = spawn(fun ponger/0),
    Ping = spawn(fun() -> pinger(Pong, N, Main) end),
    Start = now_ns(),
    Ping ! start,
    done(),
    ended(3 * N, Start, [Ping, Pong]).

pinger(Pong, Left, Main) ->
    receive
        start -> Pong ! {ping, self()}, pinger(Pong, Left - 1, Main);
        again -> Pong ! {ping, self()}, pinger(Pong, Left - 1, Main);
        {pong, _} when Left > 0 -> self() ! again, pinger(Pong, Left, Main);
        {pong, _} -> Main ! done
    end.

ponger() -> receive {ping, From} -> From ! {pong, self()}, ponger() end.

%% ------------------------------------------------------------------------------------- counting

counting(S) ->
    N = 1000000 div S, Main = self(),
    C = spawn(fun() -> counter(0) end),
    P = spawn(fun() -> producer(C, N, Main) end),
    Start = now_ns(),
    P ! start,
    done(),
    ended(N + 2, Start, [C, P]).

counter(N) ->
    receive
        {inc, N} -> counter(N + 1);
        {inc, _} -> halt(1);
        {retrieve, From} -> From ! {result, N}
    end.

producer(C, N, Main) ->
    receive start -> ok end,
    produce(C, 0, N),
    C ! {retrieve, self()},
    receive {result, N} -> Main ! done end.

produce(_, N, N) -> ok;
produce(C, I, N) -> C ! {inc, I}, produce(C, I + 1, N).

%% ------------------------------------------------------------------------------------- fjthrput

fjthrput(S) ->
    N = 10000 div S, Main = self(),
    Pids = [spawn(fun() -> worker(N, Main) end) || _ <- lists:seq(1, 60)],
    Start = now_ns(),
    rounds(N, Pids),
    [done() || _ <- Pids],
    ended(60 * N, Start, Pids).

rounds(0, _) -> ok;
rounds(N, Pids) -> lists:foreach(fun(P) -> P ! {start, 0, 0} end, Pids), rounds(N - 1, Pids).

worker(0, Main) -> Main ! done;
worker(N, Main) ->
    receive {start, _, _} -> X = math:sin(37.2), true = X * X > 0, worker(N - 1, Main) end.

%% ----------------------------------------------------------------------------------- threadring

threadring(S) ->
    N = 1000000 div S, Main = self(),
    Pids = [First | _] =
        [spawn(fun() -> receive {next, P} -> ringer(P, Main) end end) || _ <- lists:seq(1, 100)],
    [P ! {next, Q} || {P, Q} <- lists:zip(Pids, tl(Pids) ++ [First])],
    Start = now_ns(),
    First ! {ping, N},
    done(),
    ended(N + 1, Start, Pids).

ringer(Next, Main) ->
    receive
        {ping, 0} -> Main ! done;
        {ping, N} -> Next ! {ping, N - 1}, ringer(Next, Main)
    end.

%% ------------------------------------------------------------------------------------------ big

big(S) ->
    W = 120, N = 20000 div S, Main = self(),
    Sink = spawn(fun() -> sink(W, Main) end),
    Pids = [spawn(fun() -> receive {all, All} -> talker(I, Sink, All, 0, N, -1, I * 7919 + 1) end end)
            || I <- lists:seq(0, W - 1)],
    All = list_to_tuple(Pids),
    [P ! {all, All} || P <- Pids],
    Start = now_ns(),
    [P ! {pong, -1} || P <- Pids],
    done(),
    ended(2 * W * N + 2 * W, Start, Pids).

talker(Self, Sink, All, Sent, N, Expects, X) ->
    receive
        {ping, From} ->
            element(From + 1, All) ! {pong, Self},
            talker(Self, Sink, All, Sent, N, Expects, X);
        {pong, Expects} when Sent =:= N ->
            Sink ! exit,
            talker(Self, Sink, All, Sent, N, Expects, X);
        {pong, Expects} ->
            Y = (X * 1103515245 + 12345) band 16#7fffffff,
            T = (Y bsr 8) rem tuple_size(All),
            element(T + 1, All) ! {ping, Self},
            talker(Self, Sink, All, Sent + 1, N, T, Y);
        {pong, _} -> halt(1)
    end.

sink(0, Main) -> Main ! done;
sink(N, Main) -> receive exit -> sink(N - 1, Main) end.

%% ------------------------------------------------------------------------------------ chameneos

chameneos(S) ->
    N = 200000 div S, Main = self(),
    Mall = spawn(fun() -> mall(N, none, 100, 0, 2 * N, Main) end),
    Pids = [spawn(fun() -> creature(Mall, I rem 3, 0) end) || I <- lists:seq(0, 99)],
    Start = now_ns(),
    [P ! start || P <- Pids],
    done(),
    ended(4 * N + 400, Start, [Mall | Pids]).

mall(_, _, 0, Sum, Sum, Main) -> Main ! done;
mall(_, _, 0, _, _, _) -> halt(1);
mall(Left, Waiting, Faded, Sum, Want, Main) ->
    receive
        {meet, From, _} when Left =:= 0 ->
            From ! exit,
            mall(Left, Waiting, Faded, Sum, Want, Main);
        {meet, From, _} when Waiting =:= none -> mall(Left, From, Faded, Sum, Want, Main);
        {meet, _, _} = M ->
            Waiting ! M,
            mall(Left - 1, none, Faded, Sum, Want, Main);
        {count, N} -> mall(Left, Waiting, Faded - 1, Sum + N, Want, Main)
    end.

complement(A, A) -> A;
complement(A, B) -> 3 - A - B.

creature(Mall, Color, N) ->
    receive
        start -> Mall ! {meet, self(), Color}, creature(Mall, Color, N);
        {meet, From, C} ->
            D = complement(Color, C),
            From ! {change, D},
            Mall ! {meet, self(), D},
            creature(Mall, D, N + 1);
        {change, D} -> Mall ! {meet, self(), D}, creature(Mall, D, N + 1);
        exit -> Mall ! {count, N}
    end.

%% ---------------------------------------------------------------------------------------- fanin

fanin(S) ->
    N = 10000 div S, Main = self(),
    Sink = spawn(fun() -> funnel(100 * N, Main) end),
    Pids = [spawn(fun() -> feeder(Sink, I, 0, N) end) || I <- lists:seq(0, 99)],
    Start = now_ns(),
    [P ! again || P <- Pids],
    done(),
    ended(100 * N + 100 * ((N + 99) div 100), Start, [Sink | Pids]).

funnel(0, Main) -> Main ! done;
funnel(N, Main) ->
    receive
        {inc, From, I} ->
            case get(From) of
                undefined -> I = 0;
                I -> ok;
                _ -> halt(1)
            end,
            put(From, I + 1),
            funnel(N - 1, Main)
    end.

feeder(_, _, N, N) -> ok;
feeder(Sink, Self, I, N) ->
    receive
        again ->
            J = feed(Sink, Self, I, min(N, I + 100)),
            self() ! again,
            feeder(Sink, Self, J, N)
    end.

feed(_, _, N, N) -> N;
feed(Sink, Self, I, N) -> Sink ! {inc, Self, I}, feed(Sink, Self, I + 1, N).
