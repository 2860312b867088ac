// Reads scrapes as Prometheus does, into its own database, and runs a query of its language on them.
// Arguments: the query, the time of the query in seconds, and for each scrape its time in seconds and its file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	directory := must(os.MkdirTemp("", "scrape"))
	defer os.RemoveAll(directory)
	db := must(tsdb.Open(directory, nil, nil, tsdb.DefaultOptions(), nil))
	for index := 3; index < len(os.Args); index += 2 {
		seconds := must(strconv.ParseInt(os.Args[index], 10, 64))
		scrape := must(os.ReadFile(os.Args[index+1]))
		parser := must(textparse.New(scrape, "application/openmetrics-text; version=1.0.0", "", false, false, false, labels.NewSymbolTable()))
		appender := db.Appender(ctx)
		for {
			entry, err := parser.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				panic(err)
			}
			if entry != textparse.EntrySeries {
				continue
			}
			var series labels.Labels
			_, _, value := parser.Series()
			parser.Labels(&series)
			must(appender.Append(0, series, seconds*1000, value))
		}
		if err := appender.Commit(); err != nil {
			panic(err)
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000000, Timeout: time.Minute})
	at := time.Unix(must(strconv.ParseInt(os.Args[2], 10, 64)), 0)
	query := must(engine.NewInstantQuery(ctx, db, nil, os.Args[1], at))
	result := query.Exec(ctx)
	for _, sample := range must(result.Vector()) {
		fmt.Println(sample.Metric.String(), sample.F)
	}
}
