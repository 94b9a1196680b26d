package bucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"

	"github.com/granary-ml/granary/feature"
)

// cloudError gives an error of a driver its code; nil stays nil.
func cloudError(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return feature.Errorf(cloudCode(err), op, key, "%w", err)
}

// cloudPutError is cloudError of a conditional put: a precondition that failed
// is a key that is taken.
func cloudPutError(op, key string, err error) error {
	if err == nil {
		return nil
	}
	code := cloudCode(err)
	switch {
	case gcerrors.Code(err) == gcerrors.FailedPrecondition:
		code = feature.CodeAlreadyExists
	case httpStatus(err) == http.StatusConflict:
		code = feature.CodeUnavailable // still contended after every attempt
	}
	return feature.Errorf(code, op, key, "%w", err)
}

func cloudCode(err error) feature.Code {
	switch {
	case errors.Is(err, context.Canceled):
		return feature.CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return feature.CodeDeadlineExceeded
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return feature.CodeNotFound
	case gcerrors.AlreadyExists:
		return feature.CodeAlreadyExists
	case gcerrors.PermissionDenied:
		return feature.CodePermissionDenied
	case gcerrors.InvalidArgument:
		return feature.CodeInvalidArgument
	case gcerrors.FailedPrecondition, gcerrors.Unimplemented:
		return feature.CodeFailedPrecondition
	case gcerrors.ResourceExhausted: // throttled, which passes
		return feature.CodeUnavailable
	case gcerrors.OK, gcerrors.Unknown, gcerrors.Internal, gcerrors.Canceled, gcerrors.DeadlineExceeded:
	}
	return transportCode(err)
}

// transportCode codes what the drivers leave unknown: by HTTP status, else by
// the connection.
func transportCode(err error) feature.Code {
	status := httpStatus(err)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return feature.CodePermissionDenied
	case status == http.StatusInsufficientStorage:
		return feature.CodeResourceExhausted
	case status == http.StatusNotImplemented:
		return feature.CodeFailedPrecondition
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status >= 500:
		return feature.CodeUnavailable
	case status != 0:
		return feature.CodeInternal
	}
	var netErr net.Error
	if errors.As(err, &netErr) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return feature.CodeUnavailable
	}
	return feature.CodeInternal
}

// httpStatus returns the status of the answer that an error came from; 0 if
// there was none.
func httpStatus(err error) int {
	var aws *awshttp.ResponseError
	var azure *azcore.ResponseError
	var google *googleapi.Error
	switch {
	case errors.As(err, &aws) && aws.ResponseError != nil:
		return aws.HTTPStatusCode()
	case errors.As(err, &azure):
		return azure.StatusCode
	case errors.As(err, &google):
		return google.Code
	}
	return 0
}

// fileError gives an error of the file system its code; nil stays nil.
func fileError(op, key string, err error) error {
	if err == nil {
		return nil
	}
	return feature.Errorf(fileCode(err), op, key, "%w", err)
}

// fileWriteError is fileError of a write, where a folder in the place of an
// object, or an object in the place of a folder, is not a thing that is missing.
func fileWriteError(op, key string, err error) error {
	if errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTDIR) {
		return feature.Errorf(feature.CodeFailedPrecondition, op, key,
			"a file and a folder would have one name (a local folder cannot hold both): %w", err)
	}
	return fileError(op, key, err)
}

func fileCode(err error) feature.Code {
	var coded *feature.Error
	switch {
	case errors.As(err, &coded), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return feature.CodeOf(err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return feature.CodeResourceExhausted
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrNotExist):
		return feature.CodeNotFound
	case errors.Is(err, fs.ErrExist):
		return feature.CodeAlreadyExists
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return feature.CodePermissionDenied
	case errors.Is(err, syscall.ENAMETOOLONG):
		return feature.CodeInvalidArgument
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.EAGAIN):
		return feature.CodeUnavailable
	}
	return feature.CodeInternal
}
