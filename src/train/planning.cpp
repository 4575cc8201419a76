#include "train/planning.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <unordered_map>

#include "trireme/model/model.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/schedule_text.hpp"

namespace trireme {
namespace {

std::string read_text(const std::string& path, const char* option) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file || std::filesystem::is_directory(path))
        throw ConfigError(cat(option, " ", path, " cannot be read; name a file"));
    return text.str();
}

// Of pipe, data and tensor. Does not overflow: beyond all ranks that exist it need not be exact.
long long product(const LayoutConfig& layout, int data) {
    constexpr long long beyond_all = 1LL << 31;
    return std::min(beyond_all, static_cast<long long>(layout.pipe) * data) * layout.tensor;
}

int ranks_of_grid(const LayoutConfig& layout) {
    constexpr long long most_ranks = 1 << 20;
    const int data = std::max(1, layout.data);
    if (product(layout, data) <= most_ranks) return static_cast<int>(product(layout, data));
    throw ConfigError(cat("a process grid of pipe ", layout.pipe, " x data ", data, " x tensor ", layout.tensor,
                          " has more than ", most_ranks, " ranks; lower --pipe, --data or --tensor"));
}

int replicas_of_grid(const LayoutConfig& layout, int ranks) {
    const long long row = product(layout, 1);
    const int data = layout.data > 0 ? layout.data : static_cast<int>(std::max(1LL, ranks / row));
    if (product(layout, data) == ranks) return data;
    throw ConfigError(cat("the process grid needs ", product(layout, data), " ranks (pipe ", layout.pipe,
                          " x data ", data, " x tensor ", layout.tensor, ") but MPI started ", ranks,
                          "; change --pipe, --data or --tensor, or the rank count"));
}

Layout grid_of(const RunConfig& config, const ModelConfig& model, int ranks) {
    const int data = replicas_of_grid(config.layout, ranks);
    const int chunks = config.schedule.chunks;
    const auto stages = static_cast<std::size_t>(config.layout.pipe) * static_cast<std::size_t>(chunks);
    return grid_layout({.pipe = config.layout.pipe,
                        .data = data,
                        .tensor = config.layout.tensor,
                        .chunks = chunks,
                        .shares = {}},
                       cut_layers(layer_facts(model), stages, config.layout.partition));
}

void refuse_grid_options(const RunConfig& config) {
    const LayoutConfig& layout = config.layout;
    const bool has_grid = layout.pipe != 1 || layout.data != 0 || layout.tensor != 1;
    if (!has_grid && config.schedule.chunks == 1) return;
    throw ConfigError(cat("--layout ", layout.layout,
                          " says who holds what; leave out --pipe, --data, --tensor and --chunks"));
}

Layout layout_of(const RunConfig& config, const ModelConfig& model, int ranks) {
    const std::string& path = config.layout.layout;
    const std::string place = path.empty() ? "the grid" : path;
    if (!path.empty()) refuse_grid_options(config);
    Layout layout =
        path.empty() ? grid_of(config, model, ranks) : layout_from_json(read_text(path, "--layout"), path);
    check_layout(layout, ranks, layer_facts(model).size(), place);
    return layout;
}

// The largest number that there is for a larger one: make_plan() refuses that, too.
int whole_int(std::size_t number) {
    constexpr std::size_t most = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(number, most));
}

bool is_known(const std::string& schedule) {
    const std::vector<std::string> known = known_schedules();
    return std::find(known.begin(), known.end(), schedule) != known.end();
}

// A name with a dot or a slash in it is a file's.
std::vector<Program> programs_of_file(const std::string& schedule) {
    if (is_known(schedule)) return {};
    if (schedule.find_first_of("./") == std::string::npos) schedule_named(schedule);  // throws
    return programs_from_csv(read_text(schedule, "--schedule"), schedule);
}

// Of a tied table that two layers of a rank use, one slice.
void add_slices(const ParameterSpec& spec, int rank, HeldTensor& tensor) {
    for (const Slice& slice : tensor.slices) {
        if (slice.rank == rank) return;
    }
    for (const Placement& placement : spec.placements) tensor.slices.push_back({rank, placement.box});
}

class HeldList {
public:
    // What `rank` holds for layer `layer`.
    void add(const std::vector<ParameterSpec>& specs, std::size_t layer, int rank) {
        for (const ParameterSpec& spec : specs) {
            const auto [at, is_new] = numbers_.emplace(spec.name, tensors_.size());
            if (is_new) {
                tensors_.push_back({.name = spec.name,
                                    .rows = spec.all_rows,
                                    .columns = spec.all_columns,
                                    .last_use = layer,
                                    .slices = {}});
            }
            HeldTensor& tensor = tensors_[at->second];
            tensor.last_use = std::min(tensor.last_use, layer);
            add_slices(spec, rank, tensor);
        }
    }
    std::vector<HeldTensor> take() { return std::move(tensors_); }

private:
    std::vector<HeldTensor> tensors_;
    std::unordered_map<std::string, std::size_t> numbers_;
};

// That every tensor rank has something to do, before anyone makes its layers.
void check_shares(const Plan& plan, const ModelConfig& model) {
    for (std::size_t stage = 0; stage < plan.layout.stages.size(); ++stage) {
        for (const ReplicaLayout& replica : plan.layout.stages[stage].replicas) {
            const TensorPart part = part_of_rank(plan, static_cast<int>(stage), replica.ranks.front());
            part.groups(model);
            part.mlp(model);
            if (!model.reads_images()) part.vocabulary(model);
        }
    }
}

std::string text_of(const std::vector<std::size_t>& shares) {
    std::string text;
    for (const std::size_t share : shares) text += cat(text.empty() ? "" : ",", share);
    return text;
}

// A rank has one part of a table, whichever of its stages uses it.
void check_tied_table(const Plan& plan, const ModelConfig& model) {
    if (!model.tied || !model.has_vocabulary_head()) return;
    const int last = static_cast<int>(plan.layout.stages.size()) - 1;
    for (const Team& team : plan.teams) {
        if (team.stages.front() != 0 || team.stages.back() != last) continue;
        const TensorPart first_part = part_of_rank(plan, 0, team.ranks.front());
        const TensorPart last_part = part_of_rank(plan, last, team.ranks.front());
        if (first_part.shares == last_part.shares) continue;
        throw ConfigError(cat("rank ", team.ranks.front(), " has the table of tokens in stage 0 by the shares ",
                              text_of(first_part.shares), " and in stage ", last, " by ",
                              text_of(last_part.shares),
                              ", and a tied one is there once; make these shares equal, or use --tied off"));
    }
}

// What full recompute has made again is there for one layer's two halves only.
void check_halves(const Plan& plan) {
    for (const Program& program : plan.training.programs) {
        for (const Instruction& instruction : program) {
            const bool is_full = plan.recompute[static_cast<std::size_t>(instruction.stage)] == Recompute::full;
            if (instruction.op != Op::backward_input || !is_full) continue;
            throw ConfigError(cat(plan.schedule, " has ", text_of(instruction),
                                  ", half a backward pass, and stage ", instruction.stage,
                                  " computes its activations again in full; use --recompute selective or none "
                                  "for it"));
        }
    }
}

}  // namespace

std::vector<LayerFacts> layer_facts(const ModelConfig& model) {
    std::vector<LayerFacts> facts;
    std::size_t item = 0;
    for (const Layer& layer : build_layers(model)) {
        const bool is_attention = std::holds_alternative<AttentionHalf>(layer);
        const bool is_block = is_attention || std::holds_alternative<MlpHalf>(layer);
        const bool begins_head = !facts.empty() && facts.back().is_block && !is_block;
        if (is_attention || begins_head) ++item;
        std::size_t parameters = 0;
        for (const ParameterSpec& spec : parameters_of(layer)) parameters += spec.size();
        facts.push_back({.item = item, .parameters = parameters, .is_block = is_block});
    }
    return facts;
}

int ranks_for(const RunConfig& config) {
    const LayoutConfig& options = config.layout;
    if (options.layout.empty()) return ranks_of_grid(options);
    const Layout layout = layout_from_json(read_text(options.layout, "--layout"), options.layout);
    int last = -1;
    for (const int rank : layout.idle) last = std::max(last, rank);
    for (const StageLayout& stage : layout.stages) {
        for (const ReplicaLayout& replica : stage.replicas) {
            for (const int rank : replica.ranks) last = std::max(last, rank);
        }
    }
    return last + 1;
}

Plan plan_run(const RunConfig& config, const ModelConfig& model, int ranks) {
    Plan plan = make_plan({.layout = layout_of(config, model, ranks),
                           .schedule = config.schedule.schedule,
                           .own_programs = programs_of_file(config.schedule.schedule),
                           .micro_batches = whole_int(config.schedule.microbatches),
                           .is_each = config.layout.layout.empty(),
                           .recompute = config.layout.recompute,
                           .cuts_rows = config.layout.sequence_parallel,
                           .shards_optimizer = config.layout.shard_optimizer});
    check_shares(plan, model);
    check_tied_table(plan, model);
    check_halves(plan);
    return plan;
}

double bubble_of(const Plan& plan, const Prediction& prediction, int ranks) {
    double busy = 0;
    for (std::size_t team = 0; team < plan.teams.size(); ++team) {
        busy += prediction.busy[team] * static_cast<double>(plan.teams[team].ranks.size());
    }
    return 1 - busy / (prediction.makespan * ranks);
}

double bubble_of_schedule(const Plan& plan, int ranks) {
    const std::vector<StageCost> equal(plan.layout.stages.size());
    return bubble_of(plan, predict(plan.training.programs, plan.training.shape, equal), ranks);
}

TensorPart part_of_rank(const Plan& plan, int stage, int rank) {
    for (const ReplicaLayout& replica : plan.layout.stages[static_cast<std::size_t>(stage)].replicas) {
        const auto at = std::find(replica.ranks.begin(), replica.ranks.end(), rank);
        if (at == replica.ranks.end()) continue;
        return {.rank = static_cast<int>(at - replica.ranks.begin()), .shares = replica.shares};
    }
    throw BugError(cat("rank ", rank, " does not hold stage ", stage));
}

std::vector<HeldTensor> held_tensors(const Plan& plan, const ModelConfig& model) {
    HeldList held;
    for (std::size_t s = 0; s < plan.layout.stages.size(); ++s) {
        const StageLayout& stage = plan.layout.stages[s];
        for (const ReplicaLayout& replica : stage.replicas) {
            for (const int rank : replica.ranks) {
                const std::vector<Layer> layers =
                    build_layers(model, part_of_rank(plan, static_cast<int>(s), rank));
                for (std::size_t l = stage.layers.begin; l < stage.layers.end(); ++l) {
                    held.add(parameters_of(layers[l]), l, rank);
                }
            }
        }
    }
    return held.take();
}

}  // namespace trireme
