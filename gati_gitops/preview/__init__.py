"""Preview: what a change of the specs would change on every cluster, as data and as text.

    two sides → what differs → rendered, masked, paired → fields → classes, meaning → Review

Pure: it takes two compiled trees and gives a Review; writers turn that into text, pages and JSON.
"""
