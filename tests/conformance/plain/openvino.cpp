// A kept case by OpenVINO's own interface: the file is read, its inputs get the sizes that are asked about, and it is compiled with the
// precision and the number of threads and nothing else.
#include "plain_case.h"

#include <openvino/openvino.hpp>

#include <array>
#include <cstring>
#include <map>

namespace {

using namespace deepgap;

constexpr std::array<ov::element::Type_t, 13> types{
    ov::element::Type_t::f32, ov::element::Type_t::f64, ov::element::Type_t::f16,    ov::element::Type_t::bf16, ov::element::Type_t::i8,
    ov::element::Type_t::i16, ov::element::Type_t::i32, ov::element::Type_t::i64,    ov::element::Type_t::u8,   ov::element::Type_t::u16,
    ov::element::Type_t::u32, ov::element::Type_t::u64, ov::element::Type_t::boolean};

Tensor copied(const ov::Tensor& given) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != ov::element::Type_t(given.get_element_type())) continue;
    Tensor copy = make_tensor(static_cast<DataType>(i), Shape(given.get_shape().begin(), given.get_shape().end()));
    std::memcpy(const_cast<std::byte*>(copy.data.get()), given.data(), given.get_byte_size());
    return copy;
  }
  throw Error(ErrorKind::input, "an output of type " + given.get_element_type().get_type_name());
}

std::vector<Tensor> answer(const conformance::PlainCase& given) {
  try {
    ov::Core core;
    const auto model = core.read_model(given.model());
    std::map<size_t, ov::PartialShape> shapes;
    for (size_t i = 0; i < given.inputs.size(); ++i) shapes[i] = ov::Shape(given.inputs[i].shape.begin(), given.inputs[i].shape.end());
    model->reshape(shapes);
    const bool half = given.precision == "bf16" || given.precision == "mixed";
    auto compiled = core.compile_model(model, "CPU", ov::hint::inference_precision(half ? ov::element::bf16 : ov::element::f32),
                                       ov::inference_num_threads(given.threads));
    auto request = compiled.create_infer_request();
    for (size_t i = 0; i < given.inputs.size(); ++i)
      request.set_input_tensor(i, ov::Tensor(types[static_cast<size_t>(given.inputs[i].type)], shapes[i].to_shape(),
                                             const_cast<std::byte*>(given.inputs[i].data.get())));
    request.infer();
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < compiled.outputs().size(); ++i) outputs.push_back(copied(request.get_output_tensor(i)));
    return outputs;
  } catch (const ov::Exception& failure) {
    throw conformance::EngineFailure{failure.what()};
  }
}

}  // namespace

int main(int argc, char** argv) { return deepgap::conformance::run_plain_case(argc, argv, answer); }
