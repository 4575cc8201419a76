// Options and layout files for plans of a small model.
#pragma once

#include <fstream>
#include <string>

#include "scratch_folder.hpp"
#include "trireme/setup/planning.hpp"
#include "unit/model/small_parts.hpp"

namespace trireme::validation {

inline config::RunConfig grid(int pipe, int data, int tensor) {
    config::RunConfig config;
    config.layout.pipe = pipe;
    config.layout.data = data;
    config.layout.tensor = tensor;
    return config;
}

// Returns a model of 7 layers: the embedding, two blocks of two halves, the norm, the head.
inline model::ModelConfig small_gpt2(bool tied = true) {
    return sharable(model::Family::gpt2, Task::language, tied);
}

// Layout file for small_gpt2() in which replicas have different shares, and rank 4 is idle.
constexpr const char* unlike_layout = R"({"layers": 7, "stages": [
    {"layers": [0, 3], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}, {"ranks": [2]}]},
    {"layers": [3, 7], "replicas": [{"ranks": [3]}]}], "idle": [4]})";

inline std::string write_text(const ScratchFolder& folder, const char* name, const std::string& text) {
    std::ofstream(folder.file(name)) << text;
    return folder.file(name);
}

inline config::RunConfig layout_file(const ScratchFolder& folder, const std::string& json) {
    config::RunConfig config;
    config.layout.layout = write_text(folder, "layout.json", json);
    return config;
}

}  // namespace trireme::validation
