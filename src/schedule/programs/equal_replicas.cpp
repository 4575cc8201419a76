#include "schedule/programs/equal_replicas.hpp"

#include <algorithm>

namespace trireme::schedule {
namespace {

// The sizes of a shape that consists of equal pipeline replicas.
struct ReplicaSizes {
    int replicas = 1;
    int teams = 1;         // per replica
    int microbatches = 1;  // per replica and step
};

// Returns the sizes that pipeline replicas have if they are equal; nothing if `shape` cannot consist of several
// equal replicas.
std::optional<ReplicaSizes> find_replica_sizes(const PipelineShape& shape) {
    if (shape.holders.empty() || shape.executor.size() != shape.holders.size()) return std::nullopt;
    const int replicas = static_cast<int>(shape.holders.front().size());
    const bool may_have_replicas =
        replicas > 1 && shape.teams % replicas == 0 && shape.microbatches % replicas == 0;
    if (!may_have_replicas || shape.teams < 1 || shape.microbatches < 1) return std::nullopt;
    return ReplicaSizes{replicas, shape.teams / replicas, shape.microbatches / replicas};
}

// True if `team_ids` has `per_replica` entries for each pipeline replica. The entries of the first replica must
// be its own teams. Each further replica must have the entries of the previous replica plus `offset`.
bool repeats_with_offset(const std::vector<int>& team_ids, const ReplicaSizes& sizes, std::size_t per_replica,
                         int offset) {
    if (team_ids.size() != per_replica * static_cast<std::size_t>(sizes.replicas)) return false;
    for (std::size_t i = 0; i < team_ids.size(); ++i) {
        if (i < per_replica && (team_ids[i] < 0 || team_ids[i] >= sizes.teams)) return false;
        if (i >= per_replica && team_ids[i] != team_ids[i - per_replica] + offset) return false;
    }
    return true;
}

bool has_equal_replicas(const PipelineShape& shape, const ReplicaSizes& sizes) {
    const auto microbatches = static_cast<std::size_t>(sizes.microbatches);
    for (std::size_t s = 0; s < shape.holders.size(); ++s) {
        if (!repeats_with_offset(shape.holders[s], sizes, 1, sizes.teams)) return false;
        if (!repeats_with_offset(shape.executor[s], sizes, microbatches, sizes.teams)) return false;
    }
    const std::vector<int>& max_activations = shape.max_activations;
    if (max_activations.empty()) return true;
    return max_activations.size() == static_cast<std::size_t>(shape.teams) &&
           std::equal(max_activations.begin() + sizes.teams, max_activations.end(), max_activations.begin());
}

// The first replica has the first entries of all lists of the shape.
PipelineShape make_replica_shape(PipelineShape shape, const ReplicaSizes& sizes) {
    shape.teams = sizes.teams;
    shape.microbatches = sizes.microbatches;
    for (std::vector<int>& holders : shape.holders) holders.resize(1);
    for (std::vector<int>& executor : shape.executor)
        executor.resize(static_cast<std::size_t>(sizes.microbatches));
    if (!shape.max_activations.empty()) shape.max_activations.resize(static_cast<std::size_t>(sizes.teams));
    return shape;
}

// Renumbers the micro-batches of a program of the first replica as if `shape` had only that replica. Returns
// nothing if the program has micro-batches of another replica.
std::optional<Program> renumber_for_one_replica(Program program, const PipelineShape& shape,
                                                const ReplicaSizes& sizes) {
    for (Instruction& instruction : program) {
        if (!has_microbatch(instruction.op)) continue;
        const int index_in_step = instruction.microbatch % shape.microbatches;
        if (index_in_step < 0 || index_in_step >= sizes.microbatches) return std::nullopt;
        instruction.microbatch = shape.find_step(instruction.microbatch) * sizes.microbatches + index_in_step;
    }
    return program;
}

// True if `program` is `first_program` with micro-batch numbers that are higher by `first_microbatch`.
bool is_shifted_program(const Program& program, const Program& first_program, int first_microbatch) {
    return std::ranges::equal(program, first_program, [&](const Instruction& instruction, Instruction shifted) {
        if (has_microbatch(shifted.op)) shifted.microbatch += first_microbatch;
        return instruction == shifted;
    });
}

}  // namespace

Instruction FirstReplica::translate_to_replica(int replica, Instruction instruction) const {
    if (!has_microbatch(instruction.op)) return instruction;
    // The complete shape numbers micro-batches step by step, and within a step replica by replica. So the
    // number grows by shape.microbatches, the micro-batches of one replica, for each other replica in each
    // earlier step, and for each lower replica in the same step.
    const int shifts = shape.find_step(instruction.microbatch) * (replicas - 1) + replica;
    instruction.microbatch += shifts * shape.microbatches;
    return instruction;
}

std::vector<Program> FirstReplica::make_all_programs() const {
    std::vector<Program> all_programs;
    for (int replica = 0; replica < replicas; ++replica) {
        for (const Program& program : programs) {
            Program& replica_program = all_programs.emplace_back(program);
            for (Instruction& instruction : replica_program)
                instruction = translate_to_replica(replica, instruction);
        }
    }
    return all_programs;
}

std::optional<FirstReplica> find_equal_replicas(const std::vector<Program>& programs,
                                                const PipelineShape& shape) {
    const std::optional<ReplicaSizes> sizes = find_replica_sizes(shape);
    if (!sizes || programs.size() != static_cast<std::size_t>(shape.teams)) return std::nullopt;
    if (!has_equal_replicas(shape, *sizes)) return std::nullopt;
    FirstReplica first{.replicas = sizes->replicas, .shape = make_replica_shape(shape, *sizes), .programs = {}};
    const auto teams = static_cast<std::size_t>(sizes->teams);
    for (std::size_t t = 0; t < programs.size(); ++t) {
        const int replica = static_cast<int>(t / teams);
        if (!is_shifted_program(programs[t], programs[t % teams], replica * sizes->microbatches))
            return std::nullopt;
    }
    for (std::size_t t = 0; t < teams; ++t) {
        std::optional<Program> program = renumber_for_one_replica(programs[t], shape, *sizes);
        if (!program) return std::nullopt;
        first.programs.push_back(*std::move(program));
    }
    return first;
}

}  // namespace trireme::schedule
