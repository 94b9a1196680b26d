package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"
	"google.golang.org/api/googleapi"

	"github.com/granary-ml/granary/feature"
)

func awsStatus(status int) error {
	return fmt.Errorf("operation: %w", &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: errors.New("answer"),
	}})
}

func TestCloudCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		code feature.Code
	}{
		{context.Canceled, feature.CodeCanceled},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), feature.CodeDeadlineExceeded},
		{awsStatus(http.StatusServiceUnavailable), feature.CodeUnavailable},
		{awsStatus(http.StatusTooManyRequests), feature.CodeUnavailable},
		{awsStatus(http.StatusInternalServerError), feature.CodeUnavailable},
		{awsStatus(http.StatusForbidden), feature.CodePermissionDenied},
		{awsStatus(http.StatusInsufficientStorage), feature.CodeResourceExhausted},
		{awsStatus(http.StatusNotImplemented), feature.CodeFailedPrecondition},
		{awsStatus(http.StatusBadRequest), feature.CodeInternal},
		{&azcore.ResponseError{StatusCode: http.StatusBadGateway}, feature.CodeUnavailable},
		{&googleapi.Error{Code: http.StatusTooManyRequests}, feature.CodeUnavailable},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, feature.CodeUnavailable},
		{io.ErrUnexpectedEOF, feature.CodeUnavailable},
		{errors.New("anything"), feature.CodeInternal},
	} {
		err := cloudError("op", "key", c.err)
		require.Equal(t, c.code.String(), feature.CodeOf(err).String(), "%v", c.err)
		require.ErrorIs(t, err, c.err)
	}
	require.NoError(t, cloudError("op", "key", nil))
	require.NoError(t, cloudPutError("op", "key", nil))
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(cloudPutError("op", "key", awsStatus(http.StatusConflict))))
}
