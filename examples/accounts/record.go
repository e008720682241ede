package main

import (
	"net/http"
	"regexp"
)

// What is done with an account.
const (
	deposit  = "deposit"  // from outside, or the second step of a transfer
	withdraw = "withdraw" // the first step of a transfer
	undo     = "undo"     // gives back what a transfer has withdrawn and cannot deposit
	transfer = "transfer" // all steps
	balance  = "balance"  // nothing: the balance is asked for
)

// A record is a change of one account, and a line of the journal.
type record struct {
	Seq     int64  `json:"seq"` // the records' order
	Kind    string `json:"kind"`
	Account string `json:"account"`
	ID      string `json:"id"`              // the sender's name for the deposit or the transfer
	Other   string `json:"other,omitempty"` // of a transfer, the other account
	Amount  int64  `json:"amount"`
	At      int64  `json:"at"` // Unix time, in s
}

// transfer names the transfer that the record is a step of.
func (r record) transfer() string {
	if r.Kind == deposit {
		return r.Other + "/" + r.ID
	}
	return r.Account + "/" + r.ID
}

// same tells whether both ask one account for the same change.
func (r record) same(as record) bool {
	return r.Kind == as.Kind && r.Other == as.Other && r.Amount == as.Amount
}

// A refusal is a definite no: nothing was changed. After any other error that is not known, and the
// same is to be sent again.
type refusal struct {
	status int // of HTTP
	text   string
}

func (r *refusal) Error() string { return r.text }

var (
	errBad = &refusal{http.StatusBadRequest, "ids and accounts are 1 to 64 of A-Z a-z 0-9 _ -, " +
		"an amount is from 1 to 10¹², a transfer is between two accounts, a deposit has no other"}
	errNoAccount = &refusal{http.StatusNotFound, "there is no such account: deposit into it first"}
	errFunds     = &refusal{http.StatusConflict, "the account has less than that"}
	errTooMuch   = &refusal{http.StatusConflict, "the account would have too much"}
	errOtherUse  = &refusal{http.StatusConflict, "the id stands for something else: choose another"}
	errUndone    = &refusal{http.StatusConflict, "the transfer was undone: choose another id"}
)

const (
	mostAmount  = 1_000_000_000_000
	mostBalance = 1 << 62 // what is being deposited may exceed it, without overflow
)

var isName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`).MatchString

// isGood tells whether a record that comes from outside can be handled.
func (r record) isGood() bool {
	good := isName(r.Account) && isName(r.ID) && r.Amount >= 1 && r.Amount <= mostAmount
	switch r.Kind {
	case balance:
		return isName(r.Account)
	case deposit:
		return good && r.Other == ""
	}
	return good && isName(r.Other) && r.Other != r.Account
}
