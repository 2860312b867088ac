// Reads scrapes as Prometheus does, keeps them in memory, and runs queries of its language on them.
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

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

type sample struct {
	milliseconds int64
	value        float64
	histogram    *histogram.FloatHistogram
}

func (s sample) T() int64                      { return s.milliseconds }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return s.histogram }
func (s sample) Copy() chunks.Sample           { return s }
func (s sample) Type() chunkenc.ValueType {
	if s.histogram != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

type seriesSet struct {
	storage.SeriesSet
	found []*series
	next  int
}

func (s *seriesSet) Next() bool {
	s.next++
	return s.next <= len(s.found)
}

func (s *seriesSet) At() storage.Series {
	current := s.found[s.next-1]
	return storage.NewListSeries(current.labels, current.samples)
}

// The series by the hashes of their labels. Prometheus' own database is left out: it needs most of Prometheus, and minutes to compile.
type memory map[uint64]*series

func (m memory) append(lset labels.Labels, s sample) {
	key := lset.Hash()
	if m[key] == nil {
		m[key] = &series{labels: lset}
	}
	if earlier := m[key].samples; len(earlier) > 0 && earlier[len(earlier)-1].T() >= s.milliseconds {
		panic("a second sample of " + lset.String() + " in a scrape")
	}
	m[key].samples = append(m[key].samples, s)
}

func (m memory) Querier(_, _ int64) (storage.Querier, error) {
	find := func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		set := &seriesSet{SeriesSet: storage.EmptySeriesSet()}
	next:
		for _, candidate := range m {
			for _, matcher := range matchers {
				if !matcher.Matches(candidate.labels.Get(matcher.Name)) {
					continue next
				}
			}
			set.found = append(set.found, candidate)
		}
		return set
	}
	return &storage.MockQuerier{SelectMockFunction: find}, nil
}

// Appends a scrape as a configuration with always_scrape_classic_histograms does.
func read(store memory, file string, milliseconds int64) {
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
			store.append(series, sample{milliseconds: milliseconds, value: value})
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
			if floats == nil {
				floats = integers.ToFloat(nil)
			}
			store.append(series, sample{milliseconds: milliseconds, histogram: floats})
		}
	}
}

func main() {
	ctx := context.Background()
	store := memory{}
	for index := 2; index < len(os.Args); index += 2 {
		seconds := must(strconv.ParseInt(os.Args[index], 10, 64))
		read(store, os.Args[index+1], seconds*1000)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000000, Timeout: time.Minute})
	at := time.Unix(must(strconv.ParseInt(os.Args[1], 10, 64)), 0)
	lines := bufio.NewScanner(os.Stdin)
	for number := 0; lines.Scan(); number++ {
		query := must(engine.NewInstantQuery(ctx, store, nil, lines.Text(), at))
		for _, sample := range must(query.Exec(ctx).Vector()) {
			fmt.Println(number, sample.Metric.String(), sample.F)
		}
	}
}
