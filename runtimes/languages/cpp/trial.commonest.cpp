// How often does the commonest word occur?
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <unordered_map>

int main() {
    std::ifstream in("corpus.txt", std::ios::binary);
    std::unordered_map<std::string, long> counts;
    std::string word;
    long most = 0;
    for (std::istreambuf_iterator<char> at(in), end; at != end; ++at) {
        char c = *at;
        if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_') {
            word += c;
        } else if (!word.empty()) {
            most = std::max(most, ++counts[word]);
            word.clear();
        }
    }
    std::cout << most << "\n";
}
