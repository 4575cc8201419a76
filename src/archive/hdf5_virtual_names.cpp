// Replaces the names of source files in virtual datasets. The source files keep their names. HDF5 stores the
// file names and selections of such a dataset, followed by their checksum, as an object of a global heap (The
// HDF Group, HDF5 File Format Specification 3.0: III.E, Global Heap; VIII.B, Global Heap Block for Virtual
// Datasets).
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "trireme/archive/hdf5_file_image.hpp"

namespace trireme::archive::hdf5 {
namespace {

constexpr std::string_view heap_signature{"GCOL\1\0\0\0", 8};
constexpr std::size_t heap_header_bytes = 16;    // bytes: signature and size of the heap
constexpr std::size_t object_header_bytes = 16;  // bytes: index, reference count and size of the object
constexpr std::size_t checksum_bytes = 4;

// Returns the number at the offset `at` of `bytes`.
template <class Number>
Number read_number(std::string_view bytes, std::size_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(Number))
        throw BugError("an HDF5 file ends inside its metadata");
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

// Mixes the three words of the state of the checksum (Jenkins 2006, lookup3.c: mix).
void mix(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c) {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
}

// Mixes the state after the last words of the text (lookup3.c: final).
void mix_last(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c) {
    c ^= b, c -= std::rotl(b, 14);
    a ^= c, a -= std::rotl(c, 11);
    b ^= a, b -= std::rotl(a, 25);
    c ^= b, c -= std::rotl(b, 16);
    a ^= c, a -= std::rotl(c, 4);
    b ^= a, b -= std::rotl(a, 14);
    c ^= b, c -= std::rotl(b, 24);
}

// Returns HDF5's metadata checksum: lookup3's hashlittle() with initial value 0.
std::uint32_t compute_checksum(std::string_view bytes) {
    constexpr std::size_t portion_bytes = 12;
    std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
    std::uint32_t b = a, c = a;
    while (!bytes.empty()) {
        std::string padded(bytes.substr(0, portion_bytes));
        padded.resize(portion_bytes);
        a += read_number<std::uint32_t>(padded, 0);
        b += read_number<std::uint32_t>(padded, 4);
        c += read_number<std::uint32_t>(padded, 8);
        const bool is_last = bytes.size() <= portion_bytes;
        is_last ? mix_last(a, b, c) : mix(a, b, c);
        bytes.remove_prefix(std::min(portion_bytes, bytes.size()));
    }
    return c;
}

// Replaces all occurrences of `before` by `after`, which has the same length. Returns the number of
// occurrences.
std::size_t replace_all(std::span<char> bytes, std::string_view before, std::string_view after) {
    std::size_t count = 0;
    for (auto at = bytes.begin();; at += static_cast<std::ptrdiff_t>(after.size()), ++count) {
        at = std::search(at, bytes.end(), before.begin(), before.end());
        if (at == bytes.end()) return count;
        std::ranges::copy(after, at);
    }
}

// Replaces all occurrences of `before` in the bytes of one heap object. Updates the checksum at the end of
// these bytes. Returns the number of occurrences.
std::size_t rename_in_object(std::span<char> bytes, std::string_view before, std::string_view after) {
    const std::string_view all(bytes.data(), bytes.size());
    if (all.find(before) == all.npos) return 0;
    const std::string_view covered_bytes = all.substr(0, all.size() - checksum_bytes);
    if (compute_checksum(covered_bytes) != read_number<std::uint32_t>(all, covered_bytes.size()))
        throw BugError("the description of a virtual dataset in an HDF5 file does not match its checksum");
    const std::size_t count = replace_all(bytes.first(covered_bytes.size()), before, after);
    const std::uint32_t sum = compute_checksum(covered_bytes);  // the view contains the new names
    std::memcpy(bytes.data() + covered_bytes.size(), &sum, checksum_bytes);
    return count;
}

// Replaces all occurrences of `before` in the objects of one heap. Returns the number of occurrences.
std::size_t rename_in_heap(std::span<char> heap, std::string_view before, std::string_view after) {
    const std::string_view all(heap.data(), heap.size());
    std::size_t count = 0;
    for (std::size_t at = heap_header_bytes; at + object_header_bytes <= heap.size();) {
        if (read_number<std::uint16_t>(all, at) == 0) break;  // the rest is free
        const auto size = read_number<std::uint64_t>(all, at + 8);
        at += object_header_bytes;
        if (size < checksum_bytes || size > heap.size() - at)
            throw BugError("an object extends beyond its HDF5 heap");
        count += rename_in_object(heap.subspan(at, size), before, after);
        at += (size + 7) / 8 * 8;  // objects begin at multiples of 8 bytes
    }
    return count;
}

}  // namespace

void rename_source_files(std::string& bytes, std::string_view before, std::string_view after) {
    if (before.size() != after.size() || before.empty())
        throw BugError(cat("cannot rename the source file \"", before, "\" of virtual datasets to \"", after,
                           "\": the names must have the same length"));
    std::string scratch_copy = bytes;  // only to count all occurrences
    const std::size_t total_count = replace_all(scratch_copy, before, after);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = bytes.find(heap_signature, at)) != bytes.npos;) {
        const auto size = read_number<std::uint64_t>(bytes, at + heap_signature.size());
        if (size < heap_header_bytes || size > bytes.size() - at)
            throw BugError("a heap extends beyond its HDF5 file");
        count += rename_in_heap(std::span(bytes).subspan(at, size), before, after);
        at += size;
    }
    if (count != total_count)
        throw BugError(cat("only ", count, " of the ", total_count, " occurrences of \"", before,
                           "\" in an HDF5 file belong to virtual datasets"));
}

}  // namespace trireme::archive::hdf5
