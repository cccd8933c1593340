// The functions that grpc.so gives to the plug-in that opens it.
#include "backends/kserve/grpc/protocol.h"

extern "C" __attribute__((visibility("default"))) const deepgap::GrpcProtocol deepgap_kserve_grpc;
const deepgap::GrpcProtocol deepgap_kserve_grpc{deepgap::backend_abi, deepgap::ask_for_model_by_grpc, deepgap::make_grpc_session};
