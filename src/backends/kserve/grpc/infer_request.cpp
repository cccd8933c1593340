#include "backends/kserve/grpc/infer_request.h"

#include <deepgap/error.h>

#include <google/protobuf/io/coded_stream.h>
#include <kserve.pb.h>

#include <algorithm>
#include <array>
#include <utility>

namespace deepgap {
namespace {

using google::protobuf::io::CodedOutputStream;

// A message in pieces, one behind another, is the message with all their fields; so bytes need not be copied into a message object first.
constexpr uint8_t length_delimited(int field) { return static_cast<uint8_t>(field << 3 | 2); }
constexpr uint8_t id_tag = length_delimited(inference::ModelInferRequest::kIdFieldNumber);
constexpr uint8_t tensor_tag = length_delimited(inference::ModelInferRequest::kRawInputContentsFieldNumber);

size_t size_round(size_t bytes) { return 1 + CodedOutputStream::VarintSize64(bytes); }

uint8_t* put_head(uint8_t tag, size_t bytes, uint8_t* to) {
  *to = tag;
  return CodedOutputStream::WriteVarint64ToArray(bytes, to + 1);
}

}  // namespace

InferRequest::InferRequest(ModelName name, std::vector<Port> inputs, const std::vector<Port>& outputs)
    : name_(std::move(name)), inputs_(std::move(inputs)), outputs_(names_of(outputs)), staging_("kserve", inputs_) {}

const InferRequest::Form& InferRequest::form(int64_t batch) {
  const auto found = forms_.find(batch);
  if (found != forms_.end()) return found->second;
  Form form;
  form.shapes = input_shapes("kserve", "the model", inputs_, batch);
  inference::ModelInferRequest message;
  message.set_model_name(name_.name);
  message.set_model_version(name_.version);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    auto& input = *message.add_inputs();
    input.set_name(inputs_[i].name);
    input.set_datatype(std::string(datatype_name(inputs_[i].type)));
    for (const int64_t size : form.shapes[i]) input.add_shape(size);
    const size_t bytes = bytes_of(inputs_[i].type, form.shapes[i]);
    form.tensor_bytes += size_round(bytes) + bytes;
  }
  for (const std::string& output : outputs_) message.add_outputs()->set_name(output);
  form.head = grpc::Slice(message.SerializeAsString());
  return forms_[batch] = std::move(form);
}

grpc::ByteBuffer InferRequest::write(std::span<const uint32_t> samples, std::optional<uint64_t> id) {
  const auto batch = static_cast<int64_t>(samples.size());
  const Form& form = this->form(batch);
  const std::string named = id ? std::to_string(*id) : "";
  grpc::Slice tensors((id ? size_round(named.size()) + named.size() : 0) + form.tensor_bytes);
  auto* to = const_cast<uint8_t*>(tensors.begin());  // ours alone as yet
  if (id) {
    to = put_head(id_tag, named.size(), to);
    to = std::copy(named.begin(), named.end(), to);
  }
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const size_t bytes = bytes_of(inputs_[i].type, form.shapes[i]);
    to = put_head(tensor_tag, bytes, to);
    staging_.gather(i, samples, batch, reinterpret_cast<std::byte*>(to), bytes);
    to += bytes;
  }
  const std::array<grpc::Slice, 2> slices{form.head, std::move(tensors)};
  return {slices.data(), slices.size()};
}

}  // namespace deepgap
