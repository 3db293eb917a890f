// Asks an egotools REST server for the tools of a request. It needs the standard library only:
//
//	go run examples/go/ask.go http://127.0.0.1:8080 "overdue invoices of supplier Acme"
//
// EGOTOOLS_TOKEN is the bearer token, where the server wants one.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"time"
)

type request struct {
	Query       string `json:"query"`
	K           int    `json:"k"`
	Explanation bool   `json:"explanation"`
}

type tool struct {
	ID          string `json:"id"`
	Rank        int    `json:"rank"`
	Explanation string `json:"explanation"`
}

type response struct {
	Tools        []tool `json:"tools"`
	SnapshotID   string `json:"snapshot_id"`
	Unanswerable bool   `json:"unanswerable"`
}

// problem is what the server says of an error (RFC 9457).
type problem struct {
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Subject string `json:"subject"`
	Remedy  string `json:"remedy"`
}

func (p *problem) Error() string {
	return fmt.Sprintf("%d %s: %s %s", p.Status, p.Subject, p.Detail, p.Remedy)
}

// retrieve sends the request, and sends it again, up to four times, where the server says that it is busy.
func retrieve(ctx context.Context, server string, asked request) (*response, error) {
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		answer, again, err := send(ctx, server, body)
		if err == nil || again == 0 || attempt == 4 {
			return answer, err
		}
		wait := time.Duration(float64(again) * (0.75 + rand.Float64()/2))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// send makes one attempt; on an error it also says after how long another one may help, 0 for never.
func send(ctx context.Context, server string, body []byte) (*response, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/v1/retrieve", bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	post.Header.Set("Content-Type", "application/json")
	if token := os.Getenv("EGOTOOLS_TOKEN"); token != "" {
		post.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(post)
	if err != nil {
		return nil, 200 * time.Millisecond, err
	}
	defer got.Body.Close()
	if got.StatusCode == http.StatusOK {
		var answer response
		return &answer, 0, json.NewDecoder(got.Body).Decode(&answer)
	}
	failed := &problem{Status: got.StatusCode}
	if err := json.NewDecoder(got.Body).Decode(failed); err != nil {
		failed.Detail = got.Status
	}
	seconds, err := strconv.Atoi(got.Header.Get("Retry-After"))
	if err != nil || (got.StatusCode != http.StatusTooManyRequests && got.StatusCode != http.StatusServiceUnavailable) {
		seconds = 0
	}
	return nil, time.Duration(seconds) * time.Second, failed
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run ask.go http://HOST:PORT REQUEST")
		os.Exit(2)
	}
	answer, err := retrieve(context.Background(), os.Args[1], request{Query: os.Args[2], K: 5, Explanation: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if answer.Unanswerable {
		fmt.Println("Probably no tool of this catalogue serves the request.")
	}
	for _, each := range answer.Tools {
		fmt.Printf("%d  %s  %s\n", each.Rank, each.ID, each.Explanation)
	}
}
