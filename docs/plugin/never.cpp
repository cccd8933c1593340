// A backend that refuses every request with a reason: the least that deepgap takes for a plug-in. Built outside deepgap's tree (see
// CMakeLists.txt beside it).
#include <deepgap/backend.h>

namespace deepgap {
namespace {

constexpr const char* reason = "never computes anything: it is there to refuse";

class NeverBackend final : public Backend {
 public:
  std::string name() const override { return "never"; }
  std::string version() const override { return "1.0"; }
  ModelForm form() const override { return ModelForm::graph; }
  std::vector<DeviceInfo> devices() const override { return {{{"", "cpu", 0}, "CPU", -1, {}}}; }
  std::vector<OptionInfo> options() const override {
    return {{.name = "because", .describe = "what it says when it refuses", .default_value = reason}};
  }
  Support supports(const EngineRequest& request, const GraphSummary& /*graph*/) const override { return {false, because(request)}; }
  std::unique_ptr<Session> load(const Model& /*model*/, const LoadOptions& options) override {
    throw Error(ErrorKind::refused, because(options));  // nobody should come here: supports() said no
  }

 private:
  static std::string because(const EngineRequest& request) {
    const auto said = request.options.find("because");
    return said == request.options.end() ? reason : said->second;
  }
};

}  // namespace
}  // namespace deepgap

DEEPGAP_BACKEND(deepgap::NeverBackend);
