package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// An order is the body of a request.
type order struct {
	ID     string `json:"id"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Amount int64  `json:"amount"`
}

// An answer is that of each request: an account, and what it has.
type answer struct {
	Account string `json:"account"`
	Balance int64  `json:"balance"`
}

func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /accounts/{id}/deposit", func(w http.ResponseWriter, r *http.Request) {
		o, err := read(w, r)
		s.answer(w, r, record{Kind: deposit, Account: r.PathValue("id"), Other: o.From + o.To,
			ID: o.ID, Amount: o.Amount}, err)
	})
	mux.HandleFunc("POST /transfers", func(w http.ResponseWriter, r *http.Request) {
		o, err := read(w, r)
		s.answer(w, r, record{Kind: transfer, Account: o.From, Other: o.To, ID: o.ID,
			Amount: o.Amount}, err)
	})
	mux.HandleFunc("GET /accounts/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, record{Kind: balance, Account: r.PathValue("id")}, nil)
	})
	return mux
}

func read(w http.ResponseWriter, r *http.Request) (o order, err error) {
	from := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4096))
	from.DisallowUnknownFields()
	if err := from.Decode(&o); err != nil {
		return o, &refusal{http.StatusBadRequest, "the body is not understood: " + err.Error()}
	}
	return o, nil
}

// answer hands a request to the bank, unless it is wrong, and answers. A refusal has its status.
// Everything else is 503: whether the request is done is not known.
func (s *service) answer(w http.ResponseWriter, r *http.Request, m record, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.limit)
	defer cancel()
	if err == nil && !m.isGood() {
		err = errBad
	}
	a := answer{Account: m.Account}
	if err == nil {
		a.Balance, err = s.do(ctx, m)
	}
	switch no, refused := errors.AsType[*refusal](err); {
	case refused:
		http.Error(w, no.text, no.status)
	case err != nil:
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error()+"; send the same again", http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(a) // an error: the client has gone
	}
}
