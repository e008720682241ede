module github.com/organzine/coro

go 1.26
