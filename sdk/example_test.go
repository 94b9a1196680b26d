package sdk_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/sdk"
)

// server answers every request with a body, in place of a granary server.
func server(body string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	}))
}

func ExampleClient_OnlineFeatures() {
	srv := server(`{"revision": 4, "columns": [
		{"name": "origin", "values": ["JFK", "ZZZ"]},
		{"name": "weather:temp", "values": [39.02, null], "status": ["PRESENT", "NOT_FOUND"]}]}`)
	defer srv.Close()

	client, err := sdk.Dial(srv.URL, sdk.WithProject("flights"))
	if err != nil {
		panic(err)
	}
	answer, err := client.OnlineFeatures(context.Background(), wire.OnlineRequest{
		Features: []string{"weather:temp"},
		Entities: map[string][]wire.RawValue{"origin": sdk.Values("JFK", "ZZZ")},
		Include:  []string{wire.IncludeStatus},
	})
	if err != nil {
		panic(err)
	}
	for i, temp := range answer.Columns[1].Values {
		fmt.Printf("%s %s %s\n", answer.Columns[0].Values[i], temp, answer.Columns[1].Status[i])
	}
	// Output:
	// "JFK" 39.02 PRESENT
	// "ZZZ" null NOT_FOUND
}

func ExampleDecode() {
	srv := server(`{"columns": [
		{"name": "origin", "values": ["JFK", "ZZZ"]},
		{"name": "weather:temp", "values": [39.02, null]}]}`)
	defer srv.Close()

	type Weather struct {
		Origin string   `granary:"key"`
		Temp   *float64 `granary:"feature"` // a pointer, since it may be null
	}
	client, err := sdk.Dial(srv.URL)
	if err != nil {
		panic(err)
	}
	answer, err := client.OnlineFeatures(context.Background(), wire.OnlineRequest{
		Features: []string{"weather:temp"},
		Entities: map[string][]wire.RawValue{"origin": sdk.Values("JFK", "ZZZ")},
	})
	if err != nil {
		panic(err)
	}
	rows, err := sdk.Decode[Weather](answer)
	if err != nil {
		panic(err)
	}
	for _, row := range rows {
		if row.Temp == nil {
			fmt.Println(row.Origin, "is not known")
			continue
		}
		fmt.Println(row.Origin, *row.Temp)
	}
	// Output:
	// JFK 39.02
	// ZZZ is not known
}

func ExampleViewOf() {
	type Weather struct {
		Origin string    `granary:"key"`
		Hour   time.Time `granary:"event,name=time_hour"`
		Temp   *float64  `granary:"feature"`
		Gust   *float64  `granary:"feature,name=wind_gust"`
	}
	airport, err := sdk.EntityOf[Weather]("airport")
	if err != nil {
		panic(err)
	}
	view, err := sdk.ViewOf[Weather](feature.View{
		Name: "weather", Entities: []string{airport.Name}, TTL: feature.TTL(6 * time.Hour),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(airport.JoinKeys[0].Name, view.EventTimestamp, view.TTL)
	for _, f := range view.Features {
		fmt.Println(f.Name, f.Type)
	}
	// Output:
	// origin time_hour 6h
	// temp float64
	// wind_gust float64
}

func ExamplePushRows() {
	srv := server(`{"accepted": 1, "rejected": [], "version": 7}`)
	defer srv.Close()

	type Weather struct {
		Origin string    `granary:"key"`
		Hour   time.Time `granary:"event,name=time_hour"`
		Temp   *float64  `granary:"feature"`
	}
	client, err := sdk.Dial(srv.URL)
	if err != nil {
		panic(err)
	}
	temp := 39.02
	result, err := sdk.PushRows(context.Background(), client, "weather", []Weather{
		{Origin: "JFK", Hour: time.Date(2024, 1, 1, 10, 0, 0, 0, time.UTC), Temp: &temp},
	}, wire.PushOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Accepted, "accepted, table version", result.Version)
	// Output: 1 accepted, table version 7
}

func ExampleClient_Apply() {
	srv := server(`{"from_revision": 4, "to_revision": 5, "changes": [{"action": "create", "kind": "entity", "name": "airport"}]}`)
	defer srv.Close()

	client, err := sdk.Dial(srv.URL)
	if err != nil {
		panic(err)
	}
	plan, err := client.Apply(context.Background(), wire.ApplyRequest{
		Definitions: feature.Definitions{Entities: []feature.Entity{
			{Name: "airport", JoinKeys: []feature.JoinKey{{Name: "origin", Type: feature.String}}},
		}},
	})
	if feature.CodeOf(err) == feature.CodeConflict {
		fmt.Println("somebody else was first: plan again")
	}
	if err != nil {
		panic(err)
	}
	fmt.Println("revision", plan.To)
	// Output: revision 5
}
