// `deepgap tag` and `deepgap note`: what is said of Records of a Store after they were measured (docs/reference/database.md). They differ
// in the kind.
#pragma once

#include "cli/command.h"
#include "cli/selection_flags.h"
#include "store/annotations.h"

#include <string>

namespace deepgap {

class AnnotationCommand final : public Command {
 public:
  explicit AnnotationCommand(AnnotationKind kind) : kind_(kind) {}
  void declare(CLI::App& app) override;
  int run() override;

 private:
  int list(const Selection& selection) const;
  int change(const Selection& selection) const;

  AnnotationKind kind_;
  SelectionFlags which_;
  std::string store_, text_;
  bool remove_ = false, json_ = false;
};

}  // namespace deepgap
