// Equal pipeline replicas, as in a grid with --data above 1. A pipeline replica is a set of teams that together
// hold each stage once. Each replica executes the same programs with micro-batches of its own; therefore
// results for the first replica hold for all.
#pragma once

#include <optional>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The first of several equal pipeline replicas. Team t of replica d is team d * shape.teams + t of the complete
// shape.
struct FirstReplica {
    int replicas = 1;               // number of equal replicas in the complete shape
    PipelineShape shape;            // of the first replica alone
    std::vector<Program> programs;  // per team of the first replica

    // Returns the instruction of replica number `replica` that corresponds to `instruction` of the first one:
    // it has another micro-batch.
    Instruction translate_to_replica(int replica, Instruction instruction) const;
    std::vector<Program> make_all_programs() const;  // the programs of all replicas
};

// Returns the first pipeline replica, with its micro-batches numbered as if it were alone. Returns nothing if
// there is only one pipeline replica, or if replicas differ in the number of teams or micro-batches, in their
// activation limits, or in their programs.
std::optional<FirstReplica> find_equal_replicas(const std::vector<Program>& programs,
                                                const PipelineShape& shape);

}  // namespace trireme::schedule
