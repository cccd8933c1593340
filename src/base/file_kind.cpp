#include "base/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace deepgap {
namespace {

constexpr const char* by_exporter = "its framework's exporter writes it as ONNX";
constexpr const char* by_torch =
    "torch.onnx.export writes it as ONNX, or give the network and --axis package=FILE (docs/reference/engines/index.md)";

constexpr const char* pickled = "is a Python pickle, such as old PyTorch writes: torch.onnx.export writes the network as ONNX";

constexpr const char* of_ggml = "is in a format of GGML that came before GGUF: llama.cpp's convert_llama_ggml_to_gguf.py writes it as GGUF";

constexpr const char* of_ncnn = "is a network of ncnn: give the ONNX file that it was made from";

struct Kind {
  size_t offset;  // where the mark begins
  std::string_view mark;
  std::string_view what;
};
using namespace std::string_view_literals;

constexpr std::array kinds{
    Kind{0, "version https://git-lfs.github.com/spec/"sv, "is a Git LFS pointer instead of the file: run 'git lfs pull' in its repository"},
    Kind{0, "\x1f\x8b"sv, "is compressed with gzip: decompress it with 'gzip -d'"},
    Kind{0, "\x28\xb5\x2f\xfd"sv, "is compressed with zstd: decompress it with 'zstd -d'"},
    Kind{0,
         "\xfd"
         "7zXZ\0"sv,
         "is compressed with xz: decompress it with 'xz -d'"},
    Kind{0, "BZh"sv, "is compressed with bzip2: decompress it with 'bzip2 -d'"},
    Kind{0, "\x04\x22\x4d\x18"sv, "is compressed with lz4: decompress it with 'lz4 -d'"},
    Kind{0,
         "7z\xbc\xaf\x27"
         "\x1c"sv,
         "is a 7z archive: unpack it and give the ONNX file inside"},
    Kind{0, "Rar!\x1a\x07"sv, "is a RAR archive: unpack it and give the ONNX file inside"},
    Kind{257, "ustar"sv, "is a tar archive: unpack it with 'tar -xf' and give the ONNX file inside"},
    Kind{0, "%PDF-"sv, "is a PDF document, not a network"},
    Kind{0, "\x89PNG\r\n"sv, "is an image, not a network: give its folder as a dataset"},
    Kind{0, "\xff\xd8\xff"sv, "is an image, not a network: give its folder as a dataset"},
    Kind{0,
         "\x7f"
         "ELF"sv,
         "is a program or library, not a network"},
    Kind{4, "PTMF"sv, "is a model of PyTorch Mobile: torch.onnx.export writes the network as ONNX"},
    Kind{4, "ET12"sv, "is a model of ExecuTorch: torch.onnx.export writes the network as ONNX"},
    Kind{4, "ORTM"sv, "is in the ORT format of ONNX Runtime: give the ONNX file that it was made from"},
    Kind{4, "TFL3"sv, "is a TensorFlow Lite model: 'python -m tf2onnx.convert --tflite FILE --output model.onnx' writes it as ONNX"},
    Kind{0, "GGUF"sv, "is a GGUF file, which holds a network with its weights: give it as the model, with --task generate"},
    Kind{0, "lmgg"sv, of_ggml},
    Kind{0, "fmgg"sv, of_ggml},
    Kind{0, "tjgg"sv, of_ggml},
    Kind{0, "\x89HDF\r\n"sv, "is an HDF5 file, such as Keras writes: tf2onnx writes the network as ONNX"},
    Kind{0, "\x93NUMPY"sv, "is a NumPy array, not a network: give it as a dataset"},
    Kind{0, "ftrt"sv, "is a TensorRT engine: give the ONNX file that it was built from"},
    Kind{0, "ptrt"sv, "is a TensorRT engine: give the ONNX file that it was built from"},
    Kind{0, "\xdd\x85\x76\0"sv, of_ncnn},
    Kind{0, "7767517"sv, of_ncnn},
    Kind{0, "RKNN"sv, "is a model of Rockchip's RKNN: give the ONNX file that it was made from"},
    Kind{0, "\x01HEF"sv, "is a model of Hailo: give the ONNX file that it was made from"},
    Kind{0, "LITERTLM"sv, "is a model of LiteRT-LM: its framework's exporter writes the network as ONNX"},
    Kind{4, "CIR0"sv, "is a model of Circle: give the ONNX file that it was made from"},
    Kind{0, "\x12\x01\0\0\0\0\0\0"sv, "holds weights of MXNet without a network: its exporter writes both as ONNX"},
    Kind{0, "\x80\x02\x8a\x0al\xfc\x9c\x46\xf9"sv, "is a PyTorch file: torch.onnx.export writes the network as ONNX"},
    Kind{0, "\x80\x02}q"sv, pickled},
    Kind{0, "\x80\x03}q"sv, pickled},
    Kind{0, "\x80\x04\x95"sv, pickled},
    Kind{0, "\x80\x05\x95"sv, pickled},
};

std::string_view text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

bool begins_with(std::string_view text, std::string_view lower_case) {
  if (text.size() < lower_case.size()) return false;
  return std::equal(lower_case.begin(), lower_case.end(), text.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

// A header of JSON behind its length.
bool is_safetensors(std::string_view text) {
  uint64_t length = 0;
  if (text.size() < 10) return false;
  std::memcpy(&length, text.data(), sizeof(length));
  return length >= 2 && length <= text.size() - 8 && text.substr(8, 2) == "{\"";
}

// The first entry of a ZIP archive names it: PyTorch's all lie in one folder, Keras's have fixed names.
std::string kind_of_archive(std::string_view text) {
  uint16_t length = 0;
  if (text.size() > 30) std::memcpy(&length, text.data() + 26, sizeof(length));
  const std::string_view first = text.size() > 30 ? text.substr(30, length) : "";
  for (const char* entry : {"/data.pkl", "/version", "/constants.pkl", "/.format_version", "/archive_format", "/byteorder"})
    if (first.ends_with(entry)) return std::string("is a PyTorch archive: ") + by_torch;
  for (const char* entry : {"metadata.json", "config.json", "model.weights.h5"})
    if (first == entry) return "is a Keras archive: model.export(FILE, format='onnx') in Keras writes the network as ONNX";
  if (first.ends_with(".npy")) return "holds NumPy arrays, not a network: unpack it and give the .npy files as a dataset";
  if (first.starts_with("MAR-INF/")) return "is an archive of TorchServe: torch.onnx.export writes its network as ONNX";
  if (first.find(".mlpackage/") != std::string_view::npos) return "is a Core ML package in a ZIP archive: give the network as ONNX";
  return "is a ZIP archive: unpack it and give the ONNX file inside";
}

// OpenVINO's IR begins with its `net`.
std::string kind_of_xml(std::string_view text) {
  constexpr size_t looked_at = 4096;
  if (text.substr(0, looked_at).find("<net ") != std::string_view::npos)
    return "is a network in OpenVINO's IR: give the ONNX file that it was converted from";
  return std::string("is an XML file: ") + by_exporter;
}

// Protobufs whose first field is a message or a text: ONNX's is a number.
std::string kind_of_protobuf(std::string_view text) {
  size_t at = 1;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0x80U) != 0) ++at;  // its length
  const char first = at + 1 < text.size() ? text[at + 1] : '\0';
  if (first == '\n') return "is a frozen TensorFlow graph: 'python -m tf2onnx.convert --graphdef FILE' writes it as ONNX";
  if (first == '\b') return "is a network of PaddlePaddle: paddle2onnx writes it as ONNX";
  return std::string("is a protobuf of another kind, such as a network of Caffe: ") + by_exporter;
}

}  // namespace

bool is_safetensors_file(std::span<const std::byte> bytes) { return is_safetensors(text_of(bytes)); }

std::string other_file_kind(std::span<const std::byte> bytes) {
  std::string_view text = text_of(bytes);
  if (text.empty()) return "is empty";
  for (const Kind& kind : kinds)
    if (text.size() > kind.offset && text.substr(kind.offset).starts_with(kind.mark)) return std::string(kind.what);
  if (text.starts_with("PK\x03\x04")) return kind_of_archive(text);
  if (is_safetensors(text)) return "is a safetensors file, which holds weights without a network: give the network and --weights FILE";
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  if (begins_with(text, "<!doctype html") || begins_with(text, "<html"))
    return "is an HTML page, as a server answers instead of the file: download it again from its direct link";
  if (begins_with(text, "<?xml") || begins_with(text, "<net ")) return kind_of_xml(text);
  return "";
}

namespace {

// What of a file is looked at to see whether it is a text.
std::string_view head_of(std::span<const std::byte> bytes) {
  constexpr size_t looked_at = 512;
  return text_of(bytes.first(std::min(bytes.size(), looked_at)));
}

bool is_text(std::string_view head) {
  const auto is_written = [](char c) { return static_cast<unsigned char>(c) >= ' ' || c == '\t' || c == '\n' || c == '\r'; };
  return head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff") || std::all_of(head.begin(), head.end(), is_written);
}

// Names documents that servers answer in place of a file; "" for other texts.
std::string kind_of_text(std::string_view head) {
  for (const char* key : {"\"modelTopology\"", "\"graph-model\"", "\"layers-model\""})
    if (head.find(key) != std::string_view::npos) return std::string("is a model of TensorFlow.js: ") + by_exporter;
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (head[first] == '{' || head[first] == '['))
    return "is a JSON document, as a server answers instead of the file: download it again from its direct link";
  return "";
}

}  // namespace

// A binary ONNX file has control characters from its first byte on.
std::string not_onnx_kind(std::span<const std::byte> bytes) {
  if (std::string kind = other_file_kind(bytes); !kind.empty()) return kind;
  const std::string_view head = head_of(bytes);
  if (is_text(head)) {
    if (std::string kind = kind_of_text(head); !kind.empty()) return kind;
    return "is a text file: a network is a binary ONNX file (onnx.parser and onnx.save write one from ONNX's text format)";
  }
  return head.starts_with('\n') ? kind_of_protobuf(head) : "";
}

std::string not_gguf_kind(std::span<const std::byte> bytes) {
  if (text_of(bytes).starts_with("GGUF")) return "";
  if (std::string kind = other_file_kind(bytes); !kind.empty()) return kind;
  const std::string_view head = head_of(bytes);
  if (!is_text(head)) return "is not a GGUF file: it does not begin with 'GGUF'";
  std::string kind = kind_of_text(head);
  return kind.empty() ? "is a text file, not a GGUF file" : kind;
}

std::string other_framework(const std::string& path) {
  const std::string ending = std::filesystem::path(path).extension().string();
  for (const char* torch : {".pt", ".pth", ".pt2"})
    if (ending == torch) return by_torch;
  for (const char* other :
       {".pb",    ".tflite", ".h5",       ".keras",     ".xml",    ".bin",        ".param",    ".engine",  ".plan",
        ".trt",   ".ort",    ".mlmodel",  ".mlpackage", ".mnn",    ".caffemodel", ".prototxt", ".pdmodel", ".ckpt",
        ".pbtxt", ".params", ".mlmodelc", ".rknn",      ".circle", ".dlc",        ".om",       ".hef",     ".safetensors"})
    if (ending == other) return by_exporter;
  return "";
}

}  // namespace deepgap
