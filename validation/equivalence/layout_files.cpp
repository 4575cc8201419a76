#include "equivalence/layout_files.hpp"

#include <array>

namespace trireme::equivalence {
namespace {

constexpr std::array files{
    LayoutFile{"replicas-3-3-2", 8, 3, 1, 0, 1, R"({"layers": 11, "stages": [
  {"layers": [0, 4], "replicas": [{"ranks": [0]}, {"ranks": [1]}, {"ranks": [2]}]},
  {"layers": [4, 8], "replicas": [{"ranks": [3]}, {"ranks": [4]}, {"ranks": [5]}]},
  {"layers": [8, 11], "replicas": [{"ranks": [6]}, {"ranks": [7]}]}], "idle": []})"},
    LayoutFile{"replicas-2-1", 3, 2, 1, 0, 1, R"({"layers": 11, "stages": [
  {"layers": [0, 6], "replicas": [{"ranks": [0]}, {"ranks": [1]}]},
  {"layers": [6, 11], "replicas": [{"ranks": [2]}]}], "idle": []})"},
    // Rank 0, which writes the records, is idle.
    LayoutFile{"replicas-1-2-idle", 4, 2, 1, 0, 1, R"({"layers": 11, "stages": [
  {"layers": [0, 1], "replicas": [{"ranks": [3]}]},
  {"layers": [1, 11], "replicas": [{"ranks": [2]}, {"ranks": [1]}]}], "idle": [0]})"},
    LayoutFile{"shares-5-2-1", 3, 1, 1, 1, 3, R"({"layers": 11, "stages": [
  {"layers": [0, 11], "replicas": [{"ranks": [0, 1, 2], "shares": [5, 2, 1]}]}], "idle": []})"},
    LayoutFile{"shares-5-2-1-in-a-row", 6, 2, 1, 1, 3, R"({"layers": 11, "stages": [
  {"layers": [0, 5], "replicas": [{"ranks": [0, 1, 2], "shares": [5, 2, 1]}]},
  {"layers": [5, 11], "replicas": [{"ranks": [5, 4, 3], "shares": [1, 2, 5]}]}], "idle": []})"},
    // One replica has one rank, the other has two.
    LayoutFile{"cut-differently", 4, 1, 1, 2, 2, R"({"layers": 11, "stages": [
  {"layers": [0, 11], "replicas": [{"ranks": [1]}, {"ranks": [0, 3], "shares": [1, 2]}]}], "idle": [2]})"},
    LayoutFile{"cut-differently-in-a-row", 7, 2, 1, 2, 2, R"({"layers": 11, "stages": [
  {"layers": [0, 5], "replicas": [{"ranks": [0]}, {"ranks": [1, 2], "shares": [1, 2]}]},
  {"layers": [5, 11], "replicas": [{"ranks": [3, 4], "shares": [3, 1]}, {"ranks": [5]}]}], "idle": [6]})"},
    // Each rank has two stages, each with its own shares.
    LayoutFile{"looped-shares", 4, 4, 2, 1, 2, R"({"layers": 11, "stages": [
  {"layers": [0, 3], "replicas": [{"ranks": [0, 1], "shares": [2, 1]}]},
  {"layers": [3, 6], "replicas": [{"ranks": [2, 3]}]},
  {"layers": [6, 8], "replicas": [{"ranks": [0, 1], "shares": [1, 2]}]},
  {"layers": [8, 11], "replicas": [{"ranks": [2, 3], "shares": [1, 3]}]}], "idle": []})"},
    // As above. One team has the first and the last stage, and so both uses of the embedding table, which may
    // be tied.
    LayoutFile{"v-shares", 4, 4, 2, 1, 2, R"({"layers": 11, "stages": [
  {"layers": [0, 3], "replicas": [{"ranks": [0, 1], "shares": [2, 1]}]},
  {"layers": [3, 6], "replicas": [{"ranks": [2, 3]}]},
  {"layers": [6, 8], "replicas": [{"ranks": [2, 3], "shares": [1, 3]}]},
  {"layers": [8, 11], "replicas": [{"ranks": [0, 1], "shares": [2, 1]}]}], "idle": []})",
               true},
    LayoutFile{"tensor-2-then-1", 3, 2, 1, 1, 2, R"({"layers": 11, "stages": [
  {"layers": [0, 7], "replicas": [{"ranks": [0, 1]}]},
  {"layers": [7, 11], "replicas": [{"ranks": [2]}]}], "idle": []})"},
    LayoutFile{"everything-uneven", 8, 3, 1, 0, 3, R"({"layers": 11, "stages": [
  {"layers": [0, 2], "replicas": [{"ranks": [0]}, {"ranks": [1, 2], "shares": [1, 3]}]},
  {"layers": [2, 9], "replicas": [{"ranks": [3, 4, 5], "shares": [5, 2, 1]}]},
  {"layers": [9, 11], "replicas": [{"ranks": [6]}, {"ranks": [7]}]}], "idle": []})"},
};

}  // namespace

std::span<const LayoutFile> layout_files() { return files; }

}  // namespace trireme::equivalence
