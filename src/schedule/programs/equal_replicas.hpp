// Equal pipeline replicas, as in a grid with --data above 1. A pipeline replica is a set of teams that together
// hold each stage once. Equal replicas execute the same programs with different micro-batches. Therefore
// results for the first replica hold for all replicas.
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
    PipelineShape shape;            // shape of the first replica alone
    std::vector<Program> programs;  // per team of the first replica, with its micro-batches numbered from 0

    // Returns the instruction of replica number `replica`, counted from 0, that corresponds to `instruction` of
    // `programs`. The returned instruction has the micro-batch number of the complete shape. From the second
    // step on, this number differs from the number in `programs` even for replica 0.
    Instruction translate_to_replica(int replica, Instruction instruction) const;
    std::vector<Program> make_all_programs() const;  // per team of the complete shape
};

// Returns the first pipeline replica, with its micro-batches numbered as if it were alone. `programs` has one
// program per team of `shape`. Returns nothing if there is only one pipeline replica, or if the teams are not
// numbered replica by replica. Returns nothing, too, if replicas differ in the number of teams or
// micro-batches, in activation limits, or in programs.
std::optional<FirstReplica> find_equal_replicas(const std::vector<Program>& programs,
                                                const PipelineShape& shape);

}  // namespace trireme::schedule
