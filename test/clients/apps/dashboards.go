// Reads dashboards as the schema of Grafana defines them, and prints what contradicts it: a member that is not known, of another type, or missing.
// Arguments: the files.
package main

import (
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	plugins.RegisterDefaultPlugins()
	for _, file := range os.Args[1:] {
		content, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		board := dashboard.NewDashboard()
		err = board.UnmarshalJSONStrict(content)
		if err == nil {
			err = board.Validate()
		}
		// The list of contradictions is an error also if it is empty.
		if err != nil && err.Error() != "" {
			fmt.Printf("%s: %v\n", file, err)
		}
	}
}
