package api

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/granary-ml/granary/feature"
)

// The media types of bodies and answers.
const (
	mediaJSON    = "application/json"
	mediaNDJSON  = "application/x-ndjson"
	mediaCSV     = "text/csv"
	mediaArrow   = "application/vnd.apache.arrow.stream"
	mediaParquet = "application/vnd.apache.parquet"
)

// formats are the media types of rows, and what they may be called besides.
var formats = map[string]feature.Format{
	mediaJSON:                           feature.FormatJSON,
	mediaNDJSON:                         feature.FormatNDJSON,
	"application/ndjson":                feature.FormatNDJSON,
	"application/jsonl":                 feature.FormatNDJSON,
	mediaCSV:                            feature.FormatCSV,
	"application/csv":                   feature.FormatCSV,
	mediaArrow:                          feature.FormatArrow,
	"application/vnd.apache.arrow.file": feature.FormatArrow,
	mediaParquet:                        feature.FormatParquet,
	"application/x-parquet":             feature.FormatParquet,
}

// wantJSON refuses a body that says it is something else. None is JSON.
func wantJSON(r *http.Request) error {
	given := r.Header.Get("Content-Type")
	if given == mediaJSON || given == "" {
		return nil
	}
	media, err := mediaType(given)
	if err != nil {
		return err
	}
	kind, name, _ := strings.Cut(media, "/")
	if media == mediaJSON || kind == "application" && strings.HasSuffix(name, "+json") {
		return nil
	}
	return unsupported(given, mediaJSON)
}

// formatOf returns the format of a body of rows. Without a word it is JSON.
func formatOf(r *http.Request) (feature.Format, error) {
	given := r.Header.Get("Content-Type")
	if given == "" {
		return feature.FormatJSON, nil
	}
	media, err := mediaType(given)
	if err != nil {
		return "", err
	}
	if f, ok := formats[media]; ok {
		return f, nil
	}
	return "", unsupported(given, strings.Join([]string{mediaJSON, mediaNDJSON, mediaCSV, mediaArrow, mediaParquet}, ", "))
}

func unsupported(given, expected string) error {
	hint := ""
	if media, _, err := mime.ParseMediaType(given); err == nil && media == "application/x-www-form-urlencoded" {
		hint = "; curl says so of every -d unless it is given a -H 'Content-Type: …'"
	}
	return feature.Errorf(feature.CodeUnsupportedMediaType, "", "header Content-Type", "%q is not read here (expected %s%s)", clip(given), expected, hint)
}

// mediaType reads a Content-Type. Text is UTF-8 and nothing else.
func mediaType(given string) (string, error) {
	media, params, err := mime.ParseMediaType(given)
	if err != nil {
		return "", feature.Errorf(feature.CodeUnsupportedMediaType, "", "header Content-Type", "%q is not a media type", clip(given))
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", feature.Errorf(feature.CodeUnsupportedMediaType, "", "header Content-Type", "charset %q is not read (expected utf-8)", clip(charset))
	}
	return media, nil
}

// negotiate returns the media type of the answer: of those offered, the one
// that the Accept header likes best; the first where it likes several alike or
// says nothing.
func negotiate(r *http.Request, offered ...string) (string, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept == "" {
		return offered[0], nil
	}
	best, bestQuality := "", 0.0
	for _, media := range offered {
		if q := quality(accept, media); q > bestQuality {
			best, bestQuality = media, q
		}
	}
	if best == "" {
		return "", &statusError{status: http.StatusNotAcceptable, err: feature.Errorf(feature.CodeUnsupportedMediaType, "", "header Accept",
			"%q is not written here (expected %s)", clip(accept), strings.Join(offered, " or "))}
	}
	return best, nil
}

// quality returns how much an Accept header likes a media type, from 0 to 1:
// by the most exact range that matches it.
func quality(accept, media string) float64 {
	result, exactness := 0.0, -1
	for part := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		exact := -1
		switch kind, _, _ := strings.Cut(media, "/"); name {
		case media:
			exact = 2
		case kind + "/*":
			exact = 1
		case "*/*":
			exact = 0
		}
		if exact <= exactness {
			continue
		}
		exactness, result = exact, 1
		if text, ok := params["q"]; ok {
			if result, err = strconv.ParseFloat(text, 64); err != nil {
				result = 0
			}
		}
	}
	return result
}
