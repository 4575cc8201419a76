// Renames the source files of virtual datasets. HDF5 stores such a dataset as an object of a global heap (The
// HDF Group, HDF5 File Format Specification 3.0: III.E, Global Heap; VIII.B, Global Heap Block for Virtual
// Datasets): its names and selections, followed by their checksum.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "trireme/archive/hdf5_imprint.hpp"

namespace trireme::archive::hdf5 {
namespace {

constexpr std::string_view heap_signature{"GCOL\1\0\0\0", 8};
constexpr std::size_t heap_header = 16;    // bytes: the signature, the heap's size
constexpr std::size_t object_header = 16;  // bytes: number, references, the object's size
constexpr std::size_t sum_bytes = 4;

template <class Number>
Number number_at(std::string_view bytes, std::size_t at) {
    if (at > bytes.size() || bytes.size() - at < sizeof(Number))
        throw BugError("an HDF5 file ends within what it says of itself");
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

// Mixes three words of a message into the three state words (Jenkins 2006, lookup3.c: mix).
void mix(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c) {
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
}

// Mixes the final words of a message (same source: final).
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
std::uint32_t sum_of(std::string_view bytes) {
    constexpr std::size_t portion = 12;
    std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
    std::uint32_t b = a, c = a;
    while (!bytes.empty()) {
        std::string padded(bytes.substr(0, portion));
        padded.resize(portion);
        a += number_at<std::uint32_t>(padded, 0);
        b += number_at<std::uint32_t>(padded, 4);
        c += number_at<std::uint32_t>(padded, 8);
        const bool is_last = bytes.size() <= portion;
        is_last ? mix_last(a, b, c) : mix(a, b, c);
        bytes.remove_prefix(std::min(portion, bytes.size()));
    }
    return c;
}

// Returns the number of replacements.
std::size_t replace_all(std::span<char> bytes, std::string_view before, std::string_view after) {
    std::size_t count = 0;
    for (auto at = bytes.begin();; at += static_cast<std::ptrdiff_t>(after.size()), ++count) {
        at = std::search(at, bytes.end(), before.begin(), before.end());
        if (at == bytes.end()) return count;
        std::ranges::copy(after, at);
    }
}

// Renames all occurrences in one heap object, whose bytes end with a checksum. Returns their number.
std::size_t rename_in_object(std::span<char> bytes, std::string_view before, std::string_view after) {
    const std::string_view all(bytes.data(), bytes.size());
    if (all.find(before) == all.npos) return 0;
    const std::string_view summed = all.substr(0, all.size() - sum_bytes);
    if (sum_of(summed) != number_at<std::uint32_t>(all, summed.size()))
        throw BugError("what HDF5 says of a virtual dataset does not fit its checksum");
    const std::size_t count = replace_all(bytes.first(summed.size()), before, after);
    const std::uint32_t sum = sum_of(summed);
    std::memcpy(bytes.data() + summed.size(), &sum, sum_bytes);
    return count;
}

// Renames all occurrences in the objects of one heap.
std::size_t rename_in_heap(std::span<char> heap, std::string_view before, std::string_view after) {
    const std::string_view all(heap.data(), heap.size());
    std::size_t count = 0;
    for (std::size_t at = heap_header; at + object_header <= heap.size();) {
        if (number_at<std::uint16_t>(all, at) == 0) break;  // the rest is free
        const auto size = number_at<std::uint64_t>(all, at + 8);
        at += object_header;
        if (size < sum_bytes || size > heap.size() - at) throw BugError("an object leaves its HDF5 heap");
        count += rename_in_object(heap.subspan(at, size), before, after);
        at += (size + 7) / 8 * 8;
    }
    return count;
}

}  // namespace

void rename_virtual_sources(std::string& bytes, std::string_view before, std::string_view after) {
    if (before.size() != after.size() || before.empty()) throw BugError("names of unlike length are exchanged");
    std::string seen = bytes;
    const std::size_t wanted = replace_all(seen, before, after);
    std::size_t count = 0;
    for (std::size_t at = 0; (at = bytes.find(heap_signature, at)) != bytes.npos;) {
        const auto size = number_at<std::uint64_t>(bytes, at + heap_signature.size());
        if (size < heap_header || size > bytes.size() - at) throw BugError("a heap leaves its HDF5 file");
        count += rename_in_heap(std::span(bytes).subspan(at, size), before, after);
        at += size;
    }
    if (count != wanted) throw BugError(cat("of ", wanted, " names ", count, " are of virtual datasets"));
}

}  // namespace trireme::archive::hdf5
