// The devices of a job and their links, from which the costs of steps are predicted.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trireme/config/config.hpp"
#include "trireme/layout/links.hpp"
#include "trireme/plan/cluster.hpp"
#include "trireme/plan/rank_profiles.hpp"
#include "trireme/plan/stage_work.hpp"

namespace trireme::setup {

struct Job;

// The devices of all ranks and the links between them.
struct Machine {
    std::vector<plan::KernelSeconds> kernel_seconds;  // per kind of device, at its highest clock
    // The profiles that have the measured seconds of each layer, one per kind of device. Null if the costs of
    // layers come from their kernels alone.
    std::shared_ptr<const plan::RankProfiles> profiles = {};
    std::function<std::size_t(int rank)> find_kind;  // index into `kernel_seconds`
    std::function<std::size_t(int rank)> find_node;
    // The link between two ranks at a time when `leaving_messages` messages leave each node.
    std::function<layout::Link(int a, int b, std::size_t leaving_messages)> find_link;
    // Per rank: the factor by which all of its kernels take longer than those of its kind of device. If empty,
    // all factors are 1.
    std::vector<double> slowness = {};
    // Per kind of device: its clocks, highest first; an empty list if they are not known.
    std::vector<std::vector<plan::DeviceClock>> clocks = {};
    // The same as kernel_seconds, at the clocks below the highest one: [kind][clock - 1].
    std::vector<std::vector<plan::KernelSeconds>> lower_clock_seconds = {};
    std::string description = {};  // for example "predicted for 4 x A100 of a100-1x4"

    // `clock` is an index into the clocks of the kind of device; beyond them, the lowest one counts.
    const plan::KernelSeconds& find_kernel_seconds(std::size_t kind, std::size_t clock) const;
    // Returns the watts of a busy device beyond those of an idle one; 0 if they are not known.
    double find_busy_watts(std::size_t kind, std::size_t clock) const;
    std::span<const plan::DeviceClock> find_clocks(int rank) const;
};

// Returns the machine of --cluster, which must be set. Kernel times come from --profile if the profile of the
// rank has kernels, otherwise from the rates of the rank's device. Throws ConfigError if a file cannot be used.
Machine read_machine(const config::RunConfig& config, int ranks);

// Returns the machine on which `profiles` were measured, as `ranks` ranks use it. A profile without kernels
// gets the kernel times of a typical CPU core. Only the ratios of these times matter, because the measured
// seconds of the layers scale them.
Machine make_profiled_machine(std::shared_ptr<const plan::RankProfiles> profiles, int ranks);

// Returns Machine::slowness for ranks with the observed slowness `observed`: see policy::SlownessWatch. A rank
// that is slow because of its kind of device is not slow on the machine.
std::vector<double> find_slowness_on_machine(const Machine& machine, std::vector<double> observed);

// Returns the machine of equal ranks without a network. Its kernel times are `kernel_seconds`.
Machine make_uniform_machine(plan::KernelSeconds kernel_seconds);

// Returns the machine of a job: that of --cluster if set, otherwise that of --profile. If neither option is
// set, returns a machine of equal ranks on which messages take no time and the ranks together reach `flops`
// FLOP/s. If `flops` is 0, its kernel times are those of make_relative_kernel_seconds(). Throws the errors of
// read_machine().
Machine choose_machine(const Job& job, int ranks, double flops = 0);

// Returns the slower of two links: between ranks 0 and 1, and between rank 0 and the last rank. These are the
// links that runs measure: see layout::RankLinks.
layout::Link find_slow_link(const Machine& machine, int ranks);
// Returns, per rank, the lowest rank on its node.
std::vector<int> list_nodes(const Machine& machine, int ranks);

}  // namespace trireme::setup
