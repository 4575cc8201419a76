// Collective operations on whole tensors and on the rows of a micro-batch. Sums add the values of the ranks in
// rank order, so that the bits of the result do not depend on the MPI library. All ranks that receive a result
// receive the same bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/layout/box.hpp"

namespace trireme::comm {

// Returns the bytes that all_reduce() of `values` takes from its scratch arena.
std::size_t count_all_reduce_scratch_bytes(const Communicator& group, device::ConstTensor values);

// Collective over `group`. `values` becomes the sum of the values of all ranks, added in rank order. The
// all-reduce is a reduce-scatter followed by an all-gather, and sends the same number of bytes per rank as a
// ring. `values` must be a contiguous floating-point tensor; temporaries come from `scratch`.
void all_reduce(Communicator& group, device::Tensor values, device::Arena& scratch);

// Collective over `group`. Returns the values of all ranks in rank order. Every rank passes the same number of
// values; the texts of the ranks may differ in length.
std::vector<double> all_gather(Communicator& group, std::span<const double> values);
std::vector<std::string> all_gather(Communicator& group, const std::string& text);

// Collective over `group`. Returns after every rank has called it.
void barrier(Communicator& group);

// The functions below serve sequence parallelism: the ranks of a tensor group split the rows of a micro-batch.
// `ranges[r]` is the rows of rank r. Each range begins where the previous one ends; a range may be empty.

// Collective over `group`. `values` is (rows, columns) and contiguous. Each rank has filled its own rows and
// receives the rows of the other ranks.
void all_gather_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges);

// Collective over `group`. `values` is (rows, columns) and contiguous. Replaces this rank's rows by the sums of
// these rows over all ranks, added in rank order. The other rows do not change. Temporaries come from
// `scratch`.
void reduce_scatter_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges,
                         device::Arena& scratch);

}  // namespace trireme::comm
