#include "worker/model_request.h"

#include <nlohmann/json.hpp>

namespace deepgap {

nlohmann::json model_request_to_json(const ModelRequest& request) {
  return {{"name", request.name},         {"weights", request.weights},   {"seed", request.seed},
          {"shapes", request.shapes},     {"test_set", request.test_set}, {"cache_dir", request.cache_dir},
          {"data_dir", request.data_dir}, {"trains", request.trains},     {"numbers", request.numbers}};
}

ModelRequest model_request_from_json(const nlohmann::json& json) {
  ModelRequest request;
  json.at("name").get_to(request.name);
  json.at("weights").get_to(request.weights);
  json.at("seed").get_to(request.seed);
  json.at("shapes").get_to(request.shapes);
  json.at("numbers").get_to(request.numbers);
  json.at("test_set").get_to(request.test_set);
  json.at("cache_dir").get_to(request.cache_dir);
  json.at("data_dir").get_to(request.data_dir);
  json.at("trains").get_to(request.trains);
  return request;
}

}  // namespace deepgap
