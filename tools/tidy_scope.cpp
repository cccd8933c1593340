// A plug-in of clang-tidy 14: its checks walk over what this tree declares, not over the headers of the system and of libraries, about
// which it says nothing in the end. That is three quarters of the time that they take. The static analyzer goes by another way and is not
// touched.
#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchFinder.h>
#include <clang/Basic/SourceManager.h>

#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

class Scope : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  // The unit as a whole is matched before what is in it is walked over.
  void registerMatchers(MatchFinder* finder) override { finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this); }

  void check(const MatchFinder::MatchResult& result) override {
    const clang::SourceManager& sources = *result.SourceManager;
    std::vector<clang::Decl*> own;
    for (clang::Decl* declared : result.Context->getTranslationUnitDecl()->decls()) {
      const clang::SourceLocation place = sources.getExpansionLoc(declared->getLocation());
      if (place.isValid() && !sources.isInSystemHeader(place)) own.push_back(declared);
    }
    if (!own.empty()) result.Context->setTraversalScope(own);
  }
};

class Module : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override { factories.registerCheck<Scope>("deepgap-scope"); }
};

const clang::tidy::ClangTidyModuleRegistry::Add<Module> registered("deepgap", "The scope of all other checks.");

}  // namespace
