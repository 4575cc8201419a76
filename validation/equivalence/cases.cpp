#include "equivalence/cases.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <stdexcept>

#include "equivalence/layout_files.hpp"

namespace trireme::equivalence {
namespace {

constexpr int max_ranks = 8;
constexpr int items = 6;  // the embedding, four blocks and the head
constexpr int batch = 12;

constexpr std::array pipes{0, 1, 2, 3, 4};  // 0: given by a layout file
constexpr std::array widths{0, 1, 2, 3, 4};
constexpr std::array rank_counts{1, 2, 3, 4, 6, 8};

enum class For : std::uint8_t { any_layout, grid, v };

struct Schedule {
    const char* name;
    int chunks;
    For layout;
    bool has_halves = false;  // splits backward passes
};

constexpr std::array schedules{Schedule{"inter-layer", 1, For::any_layout},
                               Schedule{"gpipe", 1, For::any_layout},
                               Schedule{"1f1b", 1, For::any_layout},
                               Schedule{"interleaved", 1, For::grid},
                               Schedule{"interleaved", 2, For::grid},
                               Schedule{"interleaved", 3, For::grid},
                               Schedule{"looped-bfs", 2, For::grid},
                               Schedule{"looped-bfs", 3, For::grid},
                               Schedule{"zb-h1", 1, For::grid, true},
                               Schedule{"zb-h2", 1, For::grid, true},
                               Schedule{"zb-v", 2, For::v, true},
                               Schedule{"auto", 1, For::any_layout}};  // splits backward passes only if it may

struct Microbatches {
    int each;    // per replica of a grid
    int in_all;  // of all replicas, with a layout file
};

constexpr std::array microbatch_counts{Microbatches{1, 1}, Microbatches{2, 2}, Microbatches{3, 5},
                                       Microbatches{5, 9}};

struct Model {
    const char* name;
    int groups;  // maximum number of ranks that can share its attention
    const char* options;
};

constexpr std::array models{
    Model{"gpt2-tied", 8, "--model gpt2-tiny --tied on --width 24 --heads 8"},
    Model{"gpt2-untied", 6, "--model gpt2-tiny --tied off --width 24 --heads 6"},
    Model{"llama-tied", 3, "--model llama-tiny --tied on --width 24 --heads 6 --groups 3 --mlp-width 36"},
    Model{"llama-untied", 4, "--model llama-tiny --tied off --width 32 --heads 8 --groups 4 --mlp-width 40"}};

constexpr std::array recomputes{"none", "selective", "full", "unlike"};
constexpr std::array partitions{"uniform", "parameters", "type", "listed"};
constexpr std::array lengths{"pad", "pack", "fixed"};
constexpr std::array frozen_blocks{0, 1, 2, 4};  // of four blocks
constexpr std::array precisions{"--dtype f64 --device reference", "--dtype f32 --device cpu"};

// Gives access to the levels of a case and the table entries that they select. Open factors have no entry.
class Chosen {
public:
    explicit Chosen(const Case& levels) : levels_(levels) {}

    bool has(Factor::Number factor) const { return levels_[factor] != open; }

    template <class Array>
    const auto& of(const Array& table, Factor::Number factor) const {
        return table[static_cast<std::size_t>(levels_[factor])];
    }

    bool is_grid() const { return levels_[Factor::layout] == 0; }
    const LayoutFile& file() const {
        return layout_files()[static_cast<std::size_t>(levels_[Factor::layout] - 1)];
    }
    const Schedule& schedule() const { return of(schedules, Factor::schedule); }

    // The number of ranks of a grid, as far as it is chosen.
    int ranks() const {
        return (has(Factor::pipe) ? of(pipes, Factor::pipe) : 1) *
               (has(Factor::data) ? of(widths, Factor::data) : 1) *
               (has(Factor::tensor) ? of(widths, Factor::tensor) : 1);
    }
    bool knows_ranks() const { return has(Factor::pipe) && has(Factor::data) && has(Factor::tensor); }

    bool knows_row() const { return !is_grid() || has(Factor::pipe); }
    // Number of teams in a row.
    int row() const { return is_grid() ? of(pipes, Factor::pipe) : file().stages / file().stages_of_a_rank; }

    bool knows_stages() const { return !is_grid() || (has(Factor::pipe) && has(Factor::schedule)); }
    int stages() const { return is_grid() ? of(pipes, Factor::pipe) * schedule().chunks : file().stages; }

private:
    const Case& levels_;
};

// A layout file replaces the three sizes of a grid.
bool has_one_layout(const Case& levels) {
    const bool is_grid = levels[Factor::layout] == 0;
    return std::ranges::all_of(std::array{Factor::pipe, Factor::data, Factor::tensor}, [&](auto factor) {
        return levels[factor] == open || (levels[factor] > 0) == is_grid;
    });
}

bool has_few_ranks(const Chosen& chosen) {
    if (!chosen.is_grid()) return true;
    return chosen.knows_ranks() ? std::ranges::find(rank_counts, chosen.ranks()) != rank_counts.end()
                                : chosen.ranks() <= max_ranks;
}

bool suits_schedule(const Chosen& chosen) {
    if (!chosen.has(Factor::schedule)) return true;
    const Schedule& schedule = chosen.schedule();
    if (chosen.is_grid()) return !chosen.has(Factor::pipe) || chosen.stages() <= items;
    const LayoutFile& file = chosen.file();
    if (file.stages_of_a_rank != schedule.chunks || file.is_v != (schedule.layout == For::v)) return false;
    if (schedule.layout == For::any_layout) return true;
    if (file.rows == 0) return false;
    return !chosen.has(Factor::microbatches) ||
           chosen.of(microbatch_counts, Factor::microbatches).in_all % file.rows == 0;
}

// A layer that is fully recomputed cannot split its backward pass. The only team of a row does not split
// it.
bool suits_halves(const Chosen& chosen) {
    const bool is_known = chosen.has(Factor::schedule) && chosen.has(Factor::recompute) && chosen.knows_row();
    if (!is_known || !chosen.schedule().has_halves || chosen.row() == 1) return true;
    const std::string recompute = chosen.of(recomputes, Factor::recompute);
    return recompute == "none" || recompute == "selective";
}

// A micro-batch has at least one sample.
bool has_samples_for_all(const Chosen& chosen) {
    if (!chosen.is_grid() || !chosen.has(Factor::data) || !chosen.has(Factor::microbatches)) return true;
    return chosen.of(widths, Factor::data) * chosen.of(microbatch_counts, Factor::microbatches).each <= batch;
}

bool can_share_model(const Chosen& chosen) {
    if (!chosen.has(Factor::model)) return true;
    const int groups = chosen.of(models, Factor::model).groups;
    if (!chosen.is_grid()) return chosen.file().max_shares <= groups;
    return !chosen.has(Factor::tensor) || chosen.of(widths, Factor::tensor) <= groups;
}

// Lists per stage need several stages, and options of a grid need a grid.
bool suits_stages(const Chosen& chosen) {
    if (!chosen.knows_stages()) return true;
    const auto is = [&](const auto& table, Factor::Number factor, const char* name) {
        return chosen.has(factor) && std::string(chosen.of(table, factor)) == name;
    };
    if (is(recomputes, Factor::recompute, "unlike") && chosen.stages() < 2) return false;
    if (is(partitions, Factor::partition, "type") && chosen.stages() > 4) return false;
    const bool has_choice = chosen.is_grid() && chosen.stages() > 1;
    return has_choice || !chosen.has(Factor::partition) || is(partitions, Factor::partition, "uniform");
}

bool keeps_rules(const Case& levels) {
    const Chosen chosen(levels);
    if (!chosen.has(Factor::layout)) return true;  // the layout is chosen first
    return has_one_layout(levels) && has_few_ranks(chosen) && suits_schedule(chosen) && suits_halves(chosen) &&
           has_samples_for_all(chosen) && can_share_model(chosen) && suits_stages(chosen);
}

template <class Array, class Name>
std::vector<std::string> names(const Array& table, Name&& name) {
    std::vector<std::string> all;
    for (const auto& level : table) all.push_back(name(level));
    return all;
}

std::vector<std::string> as_texts(const auto& table) {
    return names(table, [](const char* text) { return std::string(text); });
}

std::vector<std::string> as_numbers(const auto& table) {
    return names(table, [](int number) { return number == 0 ? "-" : std::to_string(number); });
}

std::vector<std::string> layout_names() {
    std::vector<std::string> all = names(layout_files(), [](const LayoutFile& file) { return file.name; });
    all.insert(all.begin(), "grid");
    return all;
}

// Returns one choice for all stages, or a list with one per stage: none, full, selective, none, ...
std::string recompute_of(const Chosen& chosen) {
    const std::string way = chosen.of(recomputes, Factor::recompute);
    if (way != "unlike") return way;
    constexpr std::array in_turn{"none", "full", "selective"};
    std::string list;
    for (int stage = 0; stage < chosen.stages(); ++stage) {
        list +=
            (stage == 0 ? "" : ",") + std::string(in_turn[static_cast<std::size_t>(stage) % in_turn.size()]);
    }
    return list;
}

// Returns the option's value. A list has one item per stage, and the remaining items for the last stage.
std::string partition_of(const Chosen& chosen) {
    const std::string way = chosen.of(partitions, Factor::partition);
    if (way != "listed") return way;
    std::string list;
    for (int stage = 1; stage < chosen.stages(); ++stage) list += "1,";
    return list + std::to_string(items + 1 - chosen.stages());
}

std::string layout_options(const Chosen& chosen) {
    if (!chosen.is_grid()) return std::string("--layout ") + chosen.file().name + ".json";
    return "--pipe " + std::to_string(chosen.of(pipes, Factor::pipe)) + " --data " +
           std::to_string(chosen.of(widths, Factor::data)) + " --tensor " +
           std::to_string(chosen.of(widths, Factor::tensor)) + " --chunks " +
           std::to_string(chosen.schedule().chunks) + " --partition " + partition_of(chosen);
}

std::string on_off(int level) { return level == 0 ? "on" : "off"; }

}  // namespace

std::vector<FactorLevels> factor_levels() {
    const std::vector<std::string> on_and_off{"on", "off"};
    return {
        {"layout", layout_names()},
        {"pipe", as_numbers(pipes)},
        {"data", as_numbers(widths)},
        {"tensor", as_numbers(widths)},
        {"schedule",
         names(schedules,
               [](const Schedule& s) { return s.name + std::string("*") + std::to_string(s.chunks); })},
        {"micro-batches",
         names(microbatch_counts,
               [](const Microbatches& m) { return std::to_string(m.each) + "/" + std::to_string(m.in_all); })},
        {"model", names(models, [](const Model& m) { return std::string(m.name); })},
        {"recompute", as_texts(recomputes)},
        {"partition", as_texts(partitions)},
        {"shard-optimizer", on_and_off},
        {"sequence-parallel", on_and_off},
        {"length", as_texts(lengths)},
        {"precision", {"f64", "f32"}},
        {"frozen", names(frozen_blocks, [](int blocks) { return std::to_string(blocks); })},
    };
}

CaseSpace product_of_factors() {
    std::vector<int> levels;
    for (const FactorLevels& factor : factor_levels()) levels.push_back(static_cast<int>(factor.levels.size()));
    return {levels, keeps_rules};
}

std::string to_string(const Case& chosen) {
    const std::vector<FactorLevels> all = factor_levels();
    std::string name;
    for (std::size_t f = 0; f < all.size(); ++f) {
        const std::string& level = all[f].levels[static_cast<std::size_t>(chosen[f])];
        if (level != "-") name += (name.empty() ? "" : " ") + all[f].name + "=" + level;
    }
    return name;
}

Case parse_case(const std::string& name) {
    const std::vector<FactorLevels> all = factor_levels();
    Case chosen(all.size(), open);
    std::istringstream in(name);
    for (std::string word; in >> word;) {
        const std::size_t equals = std::min(word.find('='), word.size());
        const auto factor = std::ranges::find(all, word.substr(0, equals), &FactorLevels::name);
        if (factor == all.end()) throw std::invalid_argument("there is no factor " + word);
        const auto level = std::ranges::find(factor->levels, word.substr(std::min(equals + 1, word.size())));
        if (level == factor->levels.end()) throw std::invalid_argument("there is no level " + word);
        chosen[static_cast<std::size_t>(factor - all.begin())] =
            static_cast<int>(level - factor->levels.begin());
    }
    const std::optional<Case> whole = product_of_factors().completed(chosen);
    if (!whole) throw std::invalid_argument("no case can be run that has " + name);
    return *whole;
}

std::string training_options(const Case& chosen) {
    const Chosen levels(chosen);
    return levels.of(models, Factor::model).options + std::string(" ") +
           levels.of(precisions, Factor::precision) + " --batch " + std::to_string(batch) +
           " --corpus corpus.h5 --layers 4 --positions 24 --dropout 0.1 --lr 5e-3 --validation-share 0.2 "
           "--warmup-steps 3 --frozen " +
           std::to_string(levels.of(frozen_blocks, Factor::frozen));
}

std::string evaluation_options(const Case& chosen) {
    const Chosen levels(chosen);
    const Microbatches& counts = levels.of(microbatch_counts, Factor::microbatches);
    return layout_options(levels) + " --schedule " + levels.schedule().name + " --microbatches " +
           std::to_string(levels.is_grid() ? counts.each : counts.in_all) + " --sequence-parallel " +
           on_off(chosen[Factor::rows]) + " --length " + levels.of(lengths, Factor::length);
}

std::string way_options(const Case& chosen) {
    return evaluation_options(chosen) + " --recompute " + recompute_of(Chosen(chosen)) + " --shard-optimizer " +
           on_off(chosen[Factor::optimizer]);
}

int ranks_of(const Case& chosen) {
    const Chosen levels(chosen);
    return levels.is_grid() ? levels.ranks() : levels.file().ranks;
}

std::string precision_of(const Case& chosen) {
    return factor_levels()[Factor::precision].levels[chosen[Factor::precision]];
}

std::string on_gpu(std::string options, const std::string& dtype) {
    for (const std::string word : {"--dtype", "--device"}) {
        const std::size_t begin = options.find(word);
        const std::size_t value = options.find(' ', begin) + 1;
        options.erase(begin, options.find(' ', value) - begin);
    }
    return options + " --device cuda --dtype " + dtype;
}

bool is_within_tolerance(const Difference& difference, const Case& chosen) {
    return is_within_tolerance(difference, chosen[Factor::precision] == 0);
}

}  // namespace trireme::equivalence
