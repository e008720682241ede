package harness

// A Verdict is what a comparison of two builds says of a metric of a row: a line of JSON, as a
// Measurement is one.
type Verdict struct {
	Experiment, Row, Metric string
	Old, New                float64 // medians
	Change, Low, High       float64 // new divided by old, and its interval
	ControlLow, ControlHigh float64 // the interval of old divided by old again
	Verdict                 string
}
