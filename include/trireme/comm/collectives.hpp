// Collective operations on whole tensors and on the rows of a micro-batch. Values are summed in rank order, so
// that the bits of the result do not depend on the MPI library; every rank gets the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"

namespace trireme::comm {

// Bytes of scratch that sum_in_rank_order() needs for one tensor.
std::size_t sum_scratch_bytes(const Communicator& group, device::ConstTensor values);

// Collective over `group`. An all-reduce: values = sum of the values of all ranks, added in rank order. It is a
// reduce-scatter followed by an all-gather, and moves as many bytes as a ring. `values` must be a contiguous
// floating-point tensor; temporaries come from `scratch`.
void sum_in_rank_order(Communicator& group, device::Tensor values, device::Arena& scratch);

// Collective over `group`. Returns the values of all ranks in rank order. Every rank passes the same number of
// values; texts may differ in length.
std::vector<double> gather_all(Communicator& group, std::span<const double> values);
std::vector<std::string> gather_all(Communicator& group, const std::string& text);

// Collective over `group`. Returns after every rank has called it.
void barrier(Communicator& group);

// The functions below are for tensor groups that split the rows of a micro-batch. `ranges` has the rows of each
// rank, in rank order and without gaps; a range may be empty.

// Collective over `group`. An all-gather: each rank has filled its own rows of `values` (rows, columns;
// contiguous), and receives those of the others.
void gather_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges);

// Collective over `group`. A reduce-scatter: this rank's rows of `values` = sum of these rows over all ranks,
// added in rank order. The other rows stay as they are. Temporaries come from `scratch`.
void sum_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges,
              device::Arena& scratch);

}  // namespace trireme::comm
