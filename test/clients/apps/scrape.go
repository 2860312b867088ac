// Reads scrapes as Prometheus does, into its own database, and runs queries of its language on them.
// Arguments: the time of the queries in seconds, and for each scrape its time in seconds and its file: of protobuf if its name ends in .pb, else
// of OpenMetrics. Standard input has a query in each line. The output has the number of the query in front of each sample.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Appends a scrape as a configuration with always_scrape_classic_histograms does.
func read(appender storage.Appender, file string, milliseconds int64) {
	contentType := "application/openmetrics-text; version=1.0.0"
	if strings.HasSuffix(file, ".pb") {
		contentType = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
	}
	options := textparse.ParserOptions{KeepClassicOnClassicAndNativeHistograms: true}
	parser := must(textparse.New(must(os.ReadFile(file)), contentType, labels.NewSymbolTable(), options))
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			panic(err)
		}
		var series labels.Labels
		switch entry {
		case textparse.EntrySeries:
			_, _, value := parser.Series()
			parser.Labels(&series)
			must(appender.Append(0, series, milliseconds, value))
		case textparse.EntryHistogram:
			_, _, integers, floats := parser.Histogram()
			parser.Labels(&series)
			if integers != nil {
				err = integers.Validate()
			} else {
				err = floats.Validate()
			}
			if err != nil {
				panic(err)
			}
			must(appender.AppendHistogram(0, series, milliseconds, integers, floats))
		}
	}
}

func main() {
	ctx := context.Background()
	directory := must(os.MkdirTemp("", "scrape"))
	defer os.RemoveAll(directory)
	db := must(tsdb.Open(directory, nil, nil, tsdb.DefaultOptions(), nil))
	for index := 2; index < len(os.Args); index += 2 {
		seconds := must(strconv.ParseInt(os.Args[index], 10, 64))
		appender := db.Appender(ctx)
		read(appender, os.Args[index+1], seconds*1000)
		if err := appender.Commit(); err != nil {
			panic(err)
		}
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000000, Timeout: time.Minute})
	at := time.Unix(must(strconv.ParseInt(os.Args[1], 10, 64)), 0)
	lines := bufio.NewScanner(os.Stdin)
	for number := 0; lines.Scan(); number++ {
		query := must(engine.NewInstantQuery(ctx, db, nil, lines.Text(), at))
		for _, sample := range must(query.Exec(ctx).Vector()) {
			fmt.Println(number, sample.Metric.String(), sample.F)
		}
	}
}
