// Errors of single queries over HTTP: the others go on.
#include "backends/kserve/answer.h"
#include "backends/kserve/by_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace deepgap {
namespace {

struct RequestErrorCase {
  std::string name;
  ScriptedReply reply;
  std::string says;
};
void PrintTo(const RequestErrorCase& request_error, std::ostream* out) { *out << request_error.name; }
class KserveError : public testing::TestWithParam<RequestErrorCase> {};

TEST_P(KserveError, IsToldAndTheNextQueryIsAnswered) { expect_told_and_the_next_answered<ByHttp>(GetParam().reply, GetParam().says); }

using End = ScriptedReply::End;
std::string json_answer(const std::string& output) { return R"({"outputs":[)" + output + "]}"; }

INSTANTIATE_TEST_SUITE_P(
    Kinds, KserveError,
    testing::Values(
        RequestErrorCase{"Reset", {.end = End::reset, .silent = true}, "the connection was reset or closed before an answer"},
        RequestErrorCase{"Closed", {.end = End::close, .silent = true}, "the connection was reset or closed before an answer"},
        RequestErrorCase{"TimeOut", {.end = End::hang, .silent = true}, "no answer within 300 ms"},
        RequestErrorCase{"BrokenOff", {.body = "{\"out", .missing = 100}, "the answer broke off"},
        RequestErrorCase{"GreyFailure",
                         {.status = 500, .body = R"({"error":"the stub is gone"})"},
                         "answered 500 Internal Server Error: the stub is gone"},
        RequestErrorCase{"Overloaded", {.status = 503, .body = ""}, "answered 503 Service Unavailable"},
        RequestErrorCase{
            "TooMany", {.status = 429, .body = "slow down", .content_type = "text/plain"}, "answered 429 Too Many Requests: slow down"},
        RequestErrorCase{
            "Redirect", {.status = 307, .headers = {"Location: /v2/models/double/infer"}}, "a redirect, which is not followed"},
        RequestErrorCase{"Page", {.body = "<html>please log in</html>", .content_type = "text/html"}, "a page (HTML or XML)"},
        RequestErrorCase{"NoJson", {.body = "fine"}, "no answer of KServe v2"},
        RequestErrorCase{"NaN",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"data":[NaN,1,2]})")},
                         "answered 200 with JSON that is not valid: JSON has no NaN or Infinity"},
        RequestErrorCase{"HalfAnObject", {.body = R"({"outputs":[)"}, "answered 200 with JSON that is not valid"},
        RequestErrorCase{"NoOutputs", {.body = json_answer("")}, "output 'y' is missing"},
        RequestErrorCase{"OutputTwice",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"data":[1,2,3]},)"
                                              R"({"name":"y","datatype":"FP32","shape":[1,3],"data":[1,2,3]})")},
                         "output 'y' twice"},
        RequestErrorCase{
            "EmptyTensor", {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[0,3],"data":[]})")}, "output 'y' is empty"},
        RequestErrorCase{"OtherShape",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]})")},
                         "has the shape [1,4]; expected [1,3]"},
        RequestErrorCase{"OtherBatch",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]})")},
                         "has the shape [2,3]"},
        RequestErrorCase{"OtherType",
                         {.body = json_answer(R"({"name":"y","datatype":"INT32","shape":[1,3],"data":[1,2,3]})")},
                         "is INT32, but the metadata says FP32"},
        RequestErrorCase{"TooFewNumbers",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"data":[1,2]})")},
                         "has not the numbers of its shape"},
        RequestErrorCase{"TextForNumbers",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"data":["a","b","c"]})")},
                         "has not the numbers of its shape"},
        RequestErrorCase{"NoData", {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3]})")}, "has no data"},
        RequestErrorCase{"TooFewBytes",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":12}})")},
                         "0 bytes of tensors, but the answer announces 12"},
        RequestErrorCase{"OtherBytes",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[1,3],"parameters":{"binary_data_size":16}})")},
                         "has 16 bytes, its shape asks for 12"},
        RequestErrorCase{"HugeShape",
                         {.body = json_answer(R"({"name":"y","datatype":"FP32","shape":[4611686018427387904,4],"data":[]})")},
                         "has no shape"},
        RequestErrorCase{"TooLarge", {.body = std::string(2'000'000, ' ')}, "an answer of more than"}),
    [](const auto& one) { return one.param.name; });

TEST(ServerAnswer, HasNumbersThatTheDatatypeHolds) {
  const auto read = [](DataType type, const std::string& number) {
    const std::vector<Port> ports{{"y", type, Dims{{1, ""}}}};
    ServerAnswer answer(ports);
    const auto request_error = answer.read(json_answer(R"({"name":"y","shape":[1],"data":[)" + number + "]}"), "", false, 1);
    return request_error ? request_error->what : "";
  };
  for (const char* number : {"-128", "127", "5.0"}) EXPECT_EQ(read(DataType::i8, number), "") << number;
  for (const char* number : {"-129", "128", "1e300", "-1e300", "18446744073709551615"})
    EXPECT_THAT(read(DataType::i8, number), testing::HasSubstr("has not the numbers")) << number;
  EXPECT_EQ(read(DataType::u64, "18446744073709551615"), "");
  EXPECT_THAT(read(DataType::u64, "-1"), testing::HasSubstr("has not the numbers"));
  EXPECT_THAT(read(DataType::i64, "9223372036854775808"), testing::HasSubstr("has not the numbers"));
  EXPECT_EQ(read(DataType::f32, "1e300"), "");
}

}  // namespace
}  // namespace deepgap
