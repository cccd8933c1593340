// `deepgap tag`: names for Records of a Store, by which they are selected later.
#include "cli/remark_command.h"

namespace deepgap {
namespace {

class TagCommand final : public RemarkCommand {
 public:
  TagCommand() : RemarkCommand(RemarkKind::tag) {}
  std::string name() const override { return "tag"; }
  std::string describe() const override { return "Give records of a Store a name, by which they are selected; list and remove such names"; }
  std::string examples() const override {
    return "  deepgap tag deepgap.db before-upgrade --until 2026-11-20\n"
           "  deepgap report deepgap.db --tag before-upgrade\n"
           "  deepgap tag deepgap.db                                 what tags there are\n";
  }
};

const bool registered = Registry<Command>::instance().add("tag", [] { return std::make_unique<TagCommand>(); });

}  // namespace
}  // namespace deepgap
