// A Model of a Graph that was made here and has no file: the QDQ form of another, the nodes of a network alone.
#pragma once

#include <deepgap/model.h>

#include <memory>
#include <string>

namespace deepgap {

std::shared_ptr<const Model> model_of(const std::string& name, Graph graph);  // in model_source.cpp

}  // namespace deepgap
