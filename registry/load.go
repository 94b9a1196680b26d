package registry

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/strictjson"
)

// configFile is the configuration of a program in the folder that it is run
// in, where definitions may stand as well.
const configFile = "granary.yaml"

// LoadDefinitions reads definitions from files and folders and validates them
// together. Of a folder it reads the files *.yaml, *.yml and *.json in the order
// of their names, without subfolders, hidden files and granary.yaml, which is
// configuration. Every fault of every file is told at once, with file and line
// where they are known. A path that is not there is CodeNotFound.
func LoadDefinitions(paths ...string) (feature.Definitions, error) {
	_, d, err := LoadProject(paths...)
	return d, err
}

// LoadProject is LoadDefinitions, and returns the project that the files name
// as well, or "". Files that name different projects are a fault.
func LoadProject(paths ...string) (project string, d feature.Definitions, err error) {
	files, err := definitionFiles(paths)
	if err != nil {
		return "", d, err
	}
	l := loader{lines: map[string]string{}}
	for _, file := range files {
		if err := l.load(file); err != nil {
			return "", d, err
		}
	}
	if len(l.faults) == 0 {
		l.validate()
	}
	if err := feature.Invalid("registry.LoadDefinitions", "definitions", l.faults); err != nil {
		return "", d, err
	}
	return l.project, l.definitions, nil
}

// loader collects the definitions of several files.
type loader struct {
	project     string
	definitions feature.Definitions
	lines       map[string]string
	faults      []feature.Fault
}

func (l *loader) load(file string) error {
	data, err := os.ReadFile(file) //nolint:gosec // the caller says which files
	if err != nil {
		return pathError(file, err)
	}
	if strings.EqualFold(filepath.Ext(file), ".json") {
		l.json(file, data)
		return nil
	}
	d := newYAMLDecoder(file)
	doc := d.parse(data)
	l.faults = append(l.faults, d.faults...)
	l.place(doc.definitions, d.lines)
	l.add(file, doc.Project, doc.definitions)
	return nil
}

func (l *loader) json(file string, data []byte) {
	var doc document
	if err := strictjson.Unmarshal(data, &doc); err != nil {
		for _, f := range feature.FaultsOf(err) {
			l.faults = append(l.faults, feature.Fault{Field: file, Detail: f.String()})
		}
		return
	}
	d := feature.Definitions{Entities: doc.Entities, Sources: doc.Sources, Views: doc.Views, Services: doc.Services}
	lines := map[string]string{}
	for _, place := range placesOf(d) {
		lines[place] = file
	}
	l.place(d, lines)
	l.add(file, doc.Project, d)
}

// place adds the lines of a file. Of a definition that an earlier file has as
// well the lines are those of the later one, which is the one too many.
func (l *loader) place(d feature.Definitions, lines map[string]string) {
	for _, place := range placesOf(d) {
		if _, twice := l.lines[place]; twice {
			maps.DeleteFunc(l.lines, func(at, _ string) bool { return strings.HasPrefix(at, place+".") })
		}
	}
	maps.Copy(l.lines, lines)
}

func (l *loader) add(file, project string, d feature.Definitions) {
	if project != "" {
		if err := feature.CheckName(project); err != nil {
			l.faults = append(l.faults, feature.Fault{Field: file, Detail: "project: " + err.Error()})
		}
		if l.project != "" && l.project != project {
			l.faults = append(l.faults, feature.Fault{
				Field: file, Detail: "project: it is " + project + " here and " + l.project + " in another file",
			})
		}
		l.project = project
	}
	l.definitions = l.definitions.Merge(d)
}

// validate adds the faults of all definitions together, each with the line of
// the nearest place that is known.
func (l *loader) validate() {
	for _, f := range feature.FaultsOf(l.definitions.Validate()) {
		line := l.lineOf(f.Field)
		if line == "" {
			l.faults = append(l.faults, f)
			continue
		}
		l.faults = append(l.faults, feature.Fault{Field: line, Detail: f.String()})
	}
}

func (l *loader) lineOf(place string) string {
	for place != "" {
		if line, ok := l.lines[place]; ok {
			return line
		}
		place = place[:max(strings.LastIndexAny(place, ".["), 0)]
	}
	return ""
}

// placesOf returns the places of whole definitions, as Validate names them.
func placesOf(d feature.Definitions) []string {
	objects := objectsOf(d)
	places := make([]string, 0, len(objects))
	for _, o := range objects {
		places = append(places, pluralKind(o.kind)+"["+o.name+"]")
	}
	return places
}

// definitionFiles returns the files that paths name, each once.
func definitionFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, pathError(path, err)
		}
		found := []string{path}
		if info.IsDir() {
			if found, err = folderFiles(path); err != nil {
				return nil, err
			}
		}
		for _, file := range found {
			if file = filepath.Clean(file); !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "registry.LoadDefinitions", strings.Join(paths, ", "),
			"there are no definitions (expected files *.yaml, *.yml or *.json)")
	}
	return files, nil
}

func folderFiles(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, pathError(folder, err)
	}
	var files []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, ".") || name == configFile {
			continue
		}
		switch strings.ToLower(filepath.Ext(name)) {
		case ".yaml", ".yml", ".json":
			files = append(files, filepath.Join(folder, name))
		}
	}
	return files, nil
}

func pathError(path string, err error) error {
	code := feature.CodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = feature.CodeNotFound
	case errors.Is(err, fs.ErrPermission):
		code = feature.CodePermissionDenied
	}
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return &feature.Error{Code: code, Op: "registry.LoadDefinitions", Subject: "path " + path, Err: err}
}

// sortedKeys returns the keys of a map of texts in order.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}
