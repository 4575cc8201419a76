#include "data/source/synthetic.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

// Quantiles of the lengths of real functions: the 691 functions that CodeSearchNet took from apache/spark
// (commit 618d6bff). A fraction of `thousandths` / 1000 of the functions has at most `characters` characters.
struct LengthQuantile {
    std::uint64_t thousandths;
    std::uint64_t characters;
};
constexpr std::array<LengthQuantile, 11> length_quantiles = {{{0, 140},
                                                              {10, 169},
                                                              {50, 246},
                                                              {100, 292},
                                                              {250, 411},
                                                              {500, 670},
                                                              {750, 1144},
                                                              {900, 1947},
                                                              {950, 2567},
                                                              {990, 7316},
                                                              {1000, 22200}}};

// A repository from which generated rows claim to come. Only apache/spark is real. The first run in the README
// selects the rows of apache/spark.
struct Repository {
    std::string_view name;
    std::string_view folder;
    std::size_t weight;  // tenths of all rows that belong to the repository
};
constexpr std::array<Repository, 5> repositories = {{{"apache/spark", "python/pyspark", 4},
                                                     {"example/trireme-harbour", "harbour", 2},
                                                     {"example/trireme-ledger", "src/ledger", 2},
                                                     {"example/trireme-signals", "signals/core", 1},
                                                     {"example/trireme-atlas", "atlas", 1}}};
constexpr std::array<std::string_view, 10> modules = {"table", "reader", "context", "session", "rdd",
                                                      "frame", "stream", "index",   "storage", "metrics"};

const Repository& draw_repository(Draw& draw) {
    std::size_t tenth = draw.below(10);
    std::size_t index_of_repository = 0;
    while (tenth >= repositories[index_of_repository].weight)
        tenth -= repositories[index_of_repository++].weight;
    return repositories[index_of_repository];
}

std::string make_commit_hash(std::string_view repository) {
    constexpr std::string_view digits = "0123456789abcdef";
    Draw draw(RandomKey{}.then(repository));
    std::string commit;
    for (int digit = 0; digit < 40; ++digit) commit += digits[draw.below(digits.size())];
    return commit;
}

}  // namespace

std::size_t compute_target_length(std::uint64_t seed, std::uint64_t index) {
    // The fractional parts of the multiples of the golden ratio fill the unit interval evenly for any number of
    // rows (Weyl's sequence). `position` is a fraction in units of 2^-64: overflow removes the integer part.
    const RandomBlock start = random_block(RandomKey{seed}.then("synthetic length"), 0);
    const std::uint64_t position = (static_cast<std::uint64_t>(start[0]) << 32) + index * 0x9E3779B97F4A7C15ULL;
    const std::uint64_t millionths = ((position >> 32) * 1'000'000) >> 32;  // below 1,000,000
    std::size_t upper = 1;
    while (millionths >= length_quantiles[upper].thousandths * 1000) ++upper;
    const LengthQuantile& low = length_quantiles[upper - 1];
    const LengthQuantile& high = length_quantiles[upper];
    return low.characters + (high.characters - low.characters) * (millionths - low.thousandths * 1000) /
                                ((high.thousandths - low.thousandths) * 1000);
}

std::string make_synthetic_json_row(std::uint64_t seed, std::uint64_t index) {
    Draw draw(RandomKey{seed}.then("synthetic csn").then(index));
    const Repository& repository = draw_repository(draw);
    const SyntheticFunction function = generate_function(draw, compute_target_length(seed, index));
    const std::string path = cat(repository.folder, '/', modules[draw.below(modules.size())], ".py");
    const std::size_t first_line = 20 + draw.below(900);
    const auto lines = static_cast<std::size_t>(std::count(function.code.begin(), function.code.end(), '\n'));
    const std::string commit = make_commit_hash(repository.name);

    nlohmann::ordered_json row;
    row["repo"] = repository.name;
    row["path"] = path;
    row["func_name"] = function.name;
    row["original_string"] = function.code;
    row["language"] = "python";
    row["code"] = function.code;
    row["docstring"] = function.docstring;
    row["sha"] = commit;
    row["url"] = cat("https://example.org/", repository.name, "/blob/", commit, '/', path, "#L", first_line,
                     "-L", first_line + lines);
    row["partition"] = "train";
    return row.dump();
}

}  // namespace trireme::data
