package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorilla/mux" //nolint:depguard // the peer is a handler behind it

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/pebblestore"
	"github.com/granary-ml/granary/registry"
)

const (
	project    = "bench"
	views      = 5
	perView    = 10
	lookupPath = "/v1/projects/" + project + "/features/online"
	// variants is how many different requests of a shape are sent in turn.
	variants = 512
)

// world is our server over Pebble with rows in it.
type world struct {
	entities int
	service  *serving.Service
	server   *listening
	close    func() error
}

// openWorld defines five views of ten features and stores a row of each for
// every entity: six float64 of full precision, three int64, a short text.
func openWorld(ctx context.Context, dir string, entities int) (*world, error) {
	b, err := bucket.Open(ctx, "mem://", bucket.Options{})
	if err != nil {
		return nil, err
	}
	reg, err := registry.Open(ctx, b, registry.Options{})
	if err != nil {
		return nil, err
	}
	store, err := pebblestore.Open(filepath.Join(dir, "online"), pebblestore.Options{})
	if err != nil {
		return nil, err
	}
	service := serving.New(serving.Deps{Registry: reg, Online: store}, serving.Options{})
	if _, err := service.Apply(ctx, project, wire.ApplyRequest{Definitions: definitions()}); err != nil {
		return nil, err
	}
	if err := fill(ctx, reg.Snapshot(), store, entities); err != nil {
		return nil, err
	}
	server, err := listen(ctx, api.New(api.Deps{Service: service}, api.Options{}))
	if err != nil {
		return nil, err
	}
	return &world{entities: entities, service: service, server: server, close: func() error {
		server.stop()
		return store.Close()
	}}, nil
}

func definitions() feature.Definitions {
	d := feature.Definitions{Entities: []feature.Entity{{Name: "driver", JoinKeys: []feature.JoinKey{{Name: "driver_id", Type: feature.Int64}}}}}
	for v := range views {
		view := feature.View{Name: fmt.Sprintf("view_%d", v), Entities: []string{"driver"}}
		for f := range perView {
			typ := feature.Float64
			switch {
			case f >= 6 && f < 9:
				typ = feature.Int64
			case f == 9:
				typ = feature.String
			}
			view.Features = append(view.Features, feature.Feature{Name: fmt.Sprintf("feature_%d", f), Type: typ})
		}
		d.Views = append(d.Views, view)
	}
	return d
}

func fill(ctx context.Context, snap *registry.Snapshot, store online.Store, entities int) error {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a benchmark repeats
	now := feature.FromTime(clock.Real{}.Now())
	bound, err := snap.Views(project)
	if err != nil {
		return err
	}
	for _, v := range bound {
		layout := online.NewLayout(v)
		rows := make([]online.Row, 0, entities)
		for id := range entities {
			values := make([]feature.Value, len(v.Features))
			for i, f := range v.Features {
				values[i] = randomValue(random, f.Type)
			}
			key, err := feature.MakeEntityKey(v.Keys, []feature.Value{feature.Int64Value(int64(id))})
			if err != nil {
				return err
			}
			packed, err := layout.Append(nil, now, now, values)
			if err != nil {
				return err
			}
			rows = append(rows, online.Row{Key: key, Packed: packed})
		}
		if _, err := store.Write(ctx, v.ID, rows); err != nil {
			return err
		}
	}
	return nil
}

func randomValue(random *rand.Rand, typ feature.Type) feature.Value {
	switch typ {
	case feature.Int64:
		return feature.Int64Value(random.Int64N(1_000_000))
	case feature.String:
		return feature.StringValue("segment-" + strconv.Itoa(random.IntN(100)))
	}
	return feature.Float64Value(random.NormFloat64())
}

// requests makes the bodies of a shape: different entities, one feature list.
func (w *world) requests(rows int) [][]byte {
	refs := make([]string, 0, views*perView)
	for v := range views {
		for f := range perView {
			refs = append(refs, fmt.Sprintf(`"view_%d:feature_%d"`, v, f))
		}
	}
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a benchmark repeats
	out := make([][]byte, variants)
	for i := range out {
		ids := make([]string, rows)
		for j := range ids {
			ids[j] = strconv.Itoa(random.IntN(w.entities))
		}
		out[i] = fmt.Appendf(nil, `{"features":[%s],"entities":{"driver_id":[%s]}}`, strings.Join(refs, ","), strings.Join(ids, ","))
	}
	return out
}

// answers asks the service itself.
func (w *world) answers(ctx context.Context, bodies [][]byte) ([][]byte, error) {
	out := make([][]byte, len(bodies))
	for i, body := range bodies {
		var err error
		if out[i], err = w.service.AppendOnline(ctx, nil, project, body); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// listening is a server on a port of its own.
type listening struct {
	addr string
	stop func()
}

func listen(ctx context.Context, h http.Handler) (*listening, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &http.Server{Handler: h} //nolint:gosec // the only client is ours
	go func() { _ = s.Serve(l) }()
	return &listening{addr: l.Addr().String(), stop: func() { _ = s.Close() }}, nil
}

// servePeer serves the answers as they are: the path names which one.
func servePeer(ctx context.Context, answers [][]byte) (*listening, error) {
	r := mux.NewRouter()
	r.HandleFunc("/v1/projects/{project}/features/online/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(mux.Vars(r)["n"])
		if err != nil || n >= len(answers) {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(answers[n])))
		_, _ = w.Write(answers[n])
	}).Methods(http.MethodPost)
	return listen(ctx, r)
}
