// `deepgap tag`: names for Records of a Store, by which they are selected later.
#include "cli/annotation_command.h"

namespace deepgap {
namespace {

class TagCommand final : public AnnotationCommand {
 public:
  TagCommand() : AnnotationCommand(AnnotationKind::tag) {}
  std::string name() const override { return "tag"; }
  HelpPlace help_place() const override { return {CommandGroup::data, 5}; }
  std::vector<std::string> common_flags() const override { return {"--remove", "--json", "--model", "--study", "--since", "--until"}; }
  std::string describe() const override { return "Give records of a store a name to select them by; list and remove names"; }
  std::string examples() const override {
    return "  deepgap tag deepgap.db before-upgrade --until 2026-11-20\n"
           "  deepgap report deepgap.db --tag before-upgrade\n"
           "  deepgap tag deepgap.db                                 list tags\n";
  }
};

const bool registered = Registry<Command>::instance().add("tag", [] { return std::make_unique<TagCommand>(); });

}  // namespace
}  // namespace deepgap
